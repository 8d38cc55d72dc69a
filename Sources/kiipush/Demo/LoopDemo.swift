import KiiPush
import Synchronization

/// The second act of the demo: a handler writes to the bucket that it listens to, is stopped, and resumes.
struct LoopDemo {
    private let console: Console
    private let clock = DemoClock()
    private let loopGuard: LoopGuard
    private let receiver: PushReceiver
    private let handler = Handler()

    /// The handler's behaviour, and the number of its writes.
    private final class Handler: Sendable {
        enum Manner {
            case writesBack
            case announces
            case reads
        }

        private struct State {
            var manner = Manner.writesBack
            var writes = 0
        }

        private let state = Mutex(State())
        var writes: Int { state.withLock { $0.writes } }
        func become(_ manner: Manner) { state.withLock { $0.manner = manner } }

        func handle(_ event: ObjectEvent, _ context: HandlerContext) throws {
            let manner = state.withLock { $0.manner }
            guard manner != .reads else { return }
            let write = manner == .announces ? try context.willWrite(event.object) : nil
            state.withLock { $0.writes += 1 }
            write?.done()
        }
    }

    init(_ console: Console) {
        self.console = console
        let loopGuard = LoopGuard()
        self.loopGuard = loopGuard
        receiver = PushReceiver(app: DemoPayloads.app, clock: clock) {
            Deduplicator()
            loopGuard
            ScopeFilter()
        }
        receiver.onPushToApp("counter", bucket: "counter", object: "*") { [handler] event, context in
            try handler.handle(event, context)
        }
    }

    func run() async {
        console.print(
            """

            12  A handler writes to the bucket that it listens to, over APNs, where no push says who wrote.
                Every write comes back as the next push. (The demo's own clock runs, so you need not wait.)
            """)
        await loop()
        console.print("\n13  The guard looks for the cause: it handles some of them, and sees what that brings")
        await goOn(for: .seconds(3600))
        console.print("\n14  The handler no longer writes. The next try brings nothing, and the guard lets all follow")
        handler.become(.reads)
        await goOn(for: .seconds(3 * 3600))
        console.print("\n15  The same handler, but it announces its write with context.willWrite")
        loopGuard.onRisk { [console] risk in console.print("    warned before it happens: \(risk)") }
        handler.become(.announces)
        await loop()
    }

    /// Sends a push, and one more for each write of the handler, until one is not handled.
    private func loop() async {
        var handled = 0
        while handled < 1000 {
            let before = handler.writes
            let outcome = await send()
            guard outcome.name == "handled", handler.writes > before else {
                let pushes = handled == 1 ? "1 push was" : "\(handled) pushes were"
                console.print("    \(pushes) handled, each caused the next one; then: \(outcome)")
                return
            }
            handled += 1
        }
        console.print("    \(handled) pushes were handled and nothing stopped them")
    }

    /// Releases held pushes; each write of the handler comes back as a push.
    private func goOn(for duration: Duration) async {
        let end = clock.now.advanced(by: duration)
        var (handled, caused) = (0, 0)
        while let due = loopGuard.nextDue, due <= end {
            clock.advance(to: due)
            let before = handler.writes
            handled += await receiver.handleDue().count
            for _ in before..<handler.writes {
                caused += 1
                _ = await send()
            }
        }
        clock.advance(to: end)
        let hours = duration.components.seconds / 3600
        console.print("    within \(hours) h: \(handled) handled, \(caused) came back; \(receiver.held.count) held")
        for hold in loopGuard.holds { console.print("    \(hold.sentence(at: clock.now))") }
    }

    private func send() async -> Outcome {
        clock.advance(by: .milliseconds(200))
        return await receiver.receive(DemoPayloads.counterChanged(at: clock.now.nanoseconds / 1_000_000))
    }

}

/// The demo's clock, which it advances itself.
private final class DemoClock: ReceiverClock {
    private let time = Mutex(MonotonicInstant(nanoseconds: 0))

    var now: MonotonicInstant { time.withLock { $0 } }

    func advance(by duration: Duration) { time.withLock { $0 = $0.advanced(by: duration) } }
    func advance(to instant: MonotonicInstant) { time.withLock { $0 = max($0, instant) } }

    func sleep(until instant: MonotonicInstant) async throws {
        time.withLock { $0 = max($0, instant) }
    }
}
