import KiiPush
import KiiPushTesting
import Synchronization

/// The second act of the demo: a handler writes to the bucket that it listens to, is slowed down, and stops.
struct LoopDemo {
    private let console: Console
    private let clock = ManualClock()
    private let loopGuard = LoopGuard()
    private let test: TestReceiver
    private let handler = Handler()

    private final class Handler: Sendable {
        enum Manner { case writesBack, declares, reads }

        private let state = Mutex((manner: Manner.writesBack, calls: 0, writes: 0))
        var calls: Int { state.withLock { $0.calls } }
        var writes: Int { state.withLock { $0.writes } }
        private func write() { state.withLock { $0.writes += 1 } }
        func become(_ manner: Manner) { state.withLock { $0.manner = manner } }

        func handle(_ event: ObjectEvent, _ context: HandlerContext) async throws {
            let manner = state.withLock { state in
                state.calls += 1
                return state.manner
            }
            switch manner {
            case .writesBack: write()
            case .declares:
                try await context.writing(event.object) {
                    write()
                    return .done()
                }
            case .reads: break
            }
        }
    }

    init(_ console: Console) {
        self.console = console
        let receiver = PushReceiver(app: DemoPayloads.app, clock: clock) { [loopGuard] in
            Deduplicator()
            loopGuard
            ScopeFilter()
        }
        receiver.onPushToApp(id: "counter", bucket: "counter", object: "*") { [handler] event, context in
            try await handler.handle(event, context)
        }
        test = TestReceiver(receiver, clock)
    }

    func run() async {
        console.print(
            """

            12  A handler writes to the bucket that it listens to, over APNs, where no push says who wrote.
                Every write comes back as the next push. (The demo's own clock runs, so you need not wait.)
            """)
        await loop()
        console.print("\n13  The next push waits for its pace. So the loop goes on, but slowly")
        await goOn()
        console.print("\n14  The handler no longer writes. What waits is handled, and nothing comes back")
        handler.become(.reads)
        await goOn()
        console.print("\n15  The same handler, but it declares its write with context.writing")
        loopGuard.onRisk { [console] risk in console.print("    warned before it happens: \(risk)") }
        handler.become(.declares)
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

    /// Lets an hour pass; each write of the handler comes back as a push.
    private func goOn() async {
        let end = clock.now.advanced(by: .seconds(3600))
        let (calls, writes) = (handler.calls, handler.writes)
        var cameBack = writes
        while clock.now < end {
            if cameBack < handler.writes {
                cameBack += 1
                _ = await send()
            } else {
                await test.advance(by: clock.now.duration(to: min(test.nextDue ?? end, end)))
            }
        }
        console.print("    within 1 h: \(handler.calls - calls) handled, \(cameBack - writes) came back")
        for key in loopGuard.paced { console.print("    \(key.sentence)") }
    }

    private func send() async -> Outcome {
        await test.advance(by: .milliseconds(200))
        return await test.send(DemoPayloads.counterChanged(at: clock.now.nanoseconds / 1_000_000)).outcome
    }
}
