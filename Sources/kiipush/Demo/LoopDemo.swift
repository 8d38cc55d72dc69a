import KiiPush
import Synchronization

/// The second act of the demo: a handler that writes to the bucket that it listens to, cut, and let go again.
struct LoopDemo {
    private let console: Console
    private let clock = DemoClock()
    private let loopGuard: LoopGuard
    private let receiver: PushReceiver
    private let handler = Handler()

    /// How the handler behaves, and how often it wrote.
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
            ScopeRouter()
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
        console.print("\n13  A minute later the held push goes alone, as a probe")
        clock.advance(by: .seconds(60))
        await probe()
        console.print("\n14  The handler no longer writes, and somebody releases what is held")
        handler.become(.reads)
        report(await receiver.releaseHeld())
        clock.advance(by: .seconds(600))
        await receiver.handleDue()
        console.print("\n15  The same handler, but it announces its write with context.willWrite")
        loopGuard.onRisk { [console] risk in console.print("    warned before it happens: \(risk)") }
        handler.become(.announces)
        await loop()
    }

    /// Sends a push, and one more for each write of the handler, until a push is not handled.
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

    private func probe() async {
        let before = handler.writes
        report(await receiver.handleDue())
        guard handler.writes > before else { return }
        let next = await send()
        let wait = loopGuard.nextDue.map { clock.now.duration(to: $0).components.seconds } ?? 0
        console.print("    its write comes back at once: \(next); the next probe is due in \(wait) seconds")
    }

    private func send() async -> Outcome {
        clock.advance(by: .milliseconds(200))
        return await receiver.receive(DemoPayloads.counterChanged(at: clock.now.nanoseconds / 1_000_000))
    }

    private func report(_ outcomes: [Outcome]) {
        for outcome in outcomes { console.print("    outcome of what was held: \(outcome)") }
        console.print("    still held: \(receiver.held.count)")
    }
}

/// The clock of the demo, which is turned on by hand.
private final class DemoClock: ReceiverClock {
    private let time = Mutex(MonotonicInstant(nanoseconds: 0))

    var now: MonotonicInstant { time.withLock { $0 } }

    func advance(by duration: Duration) { time.withLock { $0 = $0.advanced(by: duration) } }

    func sleep(until instant: MonotonicInstant) async throws {
        time.withLock { $0 = max($0, instant) }
    }
}
