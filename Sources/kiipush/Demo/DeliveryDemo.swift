import KiiPush
import KiiPushDelivery
import KiiPushTesting
import Synchronization

/// The third act of the demo: a handler fails and is retried, and its message is dead-lettered and replayed.
struct DeliveryDemo {
    private let console: Console
    private let receiver: PushReceiver
    private let handler = Handler()

    private final class Handler: Sendable {
        private let isBroken = Mutex(true)
        func repair() { isBroken.withLock { $0 = false } }
        func handle() throws { if isBroken.withLock({ $0 }) { throw DiskIsFull() } }
    }

    private struct DiskIsFull: Error {}

    init(_ console: Console) {
        self.console = console
        receiver = PushReceiver(app: DemoPayloads.app, clock: ManualClock())
        receiver.onPushToApp(id: "backup", bucket: "counter") { [handler] _, _ in try handler.handle() }
    }

    func run() async {
        console.print("\n16  A handler fails. A service retries it, then dead-letters the message")
        // Nothing fails in memory.
        guard let test = try? TestService(receiver) else { return }
        test.service.onEvent { [console] event in
            guard case .retry(_, let route, let attempt, let pause, let cause) = event else { return }
            console.print("    '\(route)' failed (\(cause)), attempt \(attempt); again in \(pause / .seconds(1)) s")
        }
        receiver.onDeadLetter { [console] letter in
            console.print("    \(letter), tried \(counted(letter.attempts, "time"))")
        }
        _ = try? test.send(DemoPayloads.counterChanged(at: 1))
        test.advance(by: .seconds(60))
        console.print("\n17  The handler is repaired, and the dead letter is replayed")
        handler.repair()
        for letter in (try? receiver.deadLetters.letters()) ?? [] {
            console.print("    outcome of dead letter \(letter.id): \(await receiver.replay(letter))")
        }
        console.print("    dead letters left: \((try? receiver.deadLetters.count) ?? 0)")
    }
}
