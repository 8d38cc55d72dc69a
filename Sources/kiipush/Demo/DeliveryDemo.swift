import KiiPush
import KiiPushDelivery
import KiiPushTesting
import Synchronization

/// The third act of the demo: a handler fails and is retried, and its message is dead-lettered and replayed.
struct DeliveryDemo {
    private let console: Console
    private let clock = ManualClock()
    private let receiver: PushReceiver
    private let handler = Handler()

    private final class Handler: Sendable {
        private let state = Mutex((isBroken: true, calls: 0))
        var calls: Int { state.withLock { $0.calls } }
        func repair() { state.withLock { $0.isBroken = false } }

        func handle() throws {
            let isBroken = state.withLock { state in
                state.calls += 1
                return state.isBroken
            }
            if isBroken { throw DiskIsFull() }
        }
    }

    private struct DiskIsFull: Error {}

    private struct OnePayload: PushTransport {
        let name = "demo"
        let abilities: TransportAbilities = []
        let payload: RawPayload

        func run(_ intake: PushIntake) async throws { _ = try await intake.submitWaiting(payload) }
    }

    init(_ console: Console) {
        self.console = console
        receiver = PushReceiver(app: DemoPayloads.app, clock: clock)
        receiver.onPushToApp(id: "backup", bucket: "counter") { [handler] _, _ in try handler.handle() }
    }

    func run() async {
        console.print("\n16  A handler fails. A service retries it, then dead-letters the message")
        let service = PushService(receiver, [OnePayload(payload: DemoPayloads.counterChanged(at: 1))], jitter: { 0 })
        service.onEvent { [console] event in
            guard case .retry(_, let route, let attempt, let pause, let cause) = event else { return }
            console.print("    '\(route)' failed (\(cause)), attempt \(attempt); again in \(pause / .seconds(1)) s")
        }
        receiver.onDeadLetter { [console] letter in
            console.print("    \(letter), tried \(counted(letter.attempts, "time"))")
        }
        let running = Task { try await service.run() }
        await turnClock(until: running)
        console.print("\n17  The handler is repaired, and the dead letter is replayed")
        handler.repair()
        for letter in (try? receiver.deadLetters.letters()) ?? [] {
            console.print("    outcome of dead letter \(letter.id): \(await receiver.replay(letter))")
        }
        console.print("    dead letters left: \((try? receiver.deadLetters.count) ?? 0)")
    }

    /// Advances the demo's clock whenever the next attempt is due, so that nobody has to wait.
    private func turnClock(until running: Task<DrainReport, any Error>) async {
        let isOver = Mutex(false)
        let watch = Task {
            _ = try? await running.value
            isOver.withLock { $0 = true }
        }
        while !isOver.withLock({ $0 }) {
            // In small steps: a handler that has begun must not be past its time before it had a turn.
            if let next = clock.nextWake, next > clock.now {
                clock.advance(by: min(clock.now.duration(to: next), .milliseconds(100)))
            }
            await Task.yield()
        }
        await watch.value
    }
}
