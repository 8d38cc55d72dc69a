import Glibc
import KiiPush
import KiiPushDelivery
import KiiPushSQLite
import Synchronization

/// Sends millions of messages through a service in this process, and watches its memory.
struct Soak {
    var messages = 10_000_000
    /// Whether the inbox is on disk.
    var isDurable = false

    /// Prints a line for each tenth of the messages, and says what did not hold.
    func run() async throws -> [String] {
        let folder = try Folder()
        let handled = Atomic<Int>(0)
        var inbox: any Inbox = InMemoryInbox()
        var deduplicator = Deduplicator()
        if isDurable {
            let database = try SQLiteDatabase(directory: folder.path)
            let durable = try SQLiteInbox(database)
            inbox = durable
            deduplicator = Deduplicator(store: try SQLiteSeenStore(writtenBy: durable), secret: database.secret)
        }
        let receiver = PushReceiver {
            deduplicator
            // One pace of its own for each object, and new ones all the time: none of them is to wait.
            LoopGuard(settings: LoopSettings.standard.without(.pace))
            ScopeFilter()
        }
        receiver.onPushToApp { _, _ in handled.add(1, ordering: .relaxed) }
        var memory: [Int] = []
        let start = ContinuousClock.now
        let transport = CountingTransport(count: messages)
        let service = PushService(receiver, [transport], inbox: inbox)
        let run = Task { try await service.run() }
        while handled.load(ordering: .relaxed) < messages {
            try await Task.sleep(for: .milliseconds(20))
            let count = handled.load(ordering: .relaxed)
            guard count >= messages / 10 * (memory.count + 1) else { continue }
            let kibibytes = ProcessFigures(of: getpid()).total
            memory.append(kibibytes)
            let seconds = start.duration(to: .now) / .seconds(1)
            print("\(count) messages, \(Int(seconds)) s, \(kibibytes) KiB resident, \(Int(Double(count) / seconds))/s")
            fflush(nil)
        }
        _ = try await run.value
        var broken: [String] = []
        // What the dedupe window and the queues take is there after the first tenth.
        if let first = memory.dropFirst().first, let last = memory.last, last > first + first / 20 + 1024 {
            broken.append("memory grew from \(first) to \(last) KiB between the second tenth and the last")
        }
        if service.status.messages > 0 { broken.append("\(service.status.messages) messages are left") }
        return broken
    }
}

/// Hands numbered messages over, as fast as they are taken.
private struct CountingTransport: PushTransport {
    let count: Int
    let name = "counting"
    let abilities: TransportAbilities = []

    func run(_ intake: PushIntake) async throws {
        for number in 1...count {
            _ = try await intake.submitWaiting(RawPayload(NumberedMessage.payload(number), transport: .mqtt))
        }
    }
}
