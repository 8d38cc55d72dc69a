import Glibc
import KiiPush
import KiiPushDelivery
import KiiPushAgent
import KiiPushSystem
import KiiPushSQLite
import Synchronization

/// Has the disk refuse the n-th call of a store, for every n, in this process: with a transport that brings again what
/// was not acknowledged, as a broker does.
struct DiskFaults {
    enum Kind: String, CaseIterable {
        case full = "disk full"
        case inputOutput = "I/O error"
    }

    let kind: Kind
    let isLong: Bool

    private static let messages = 20

    /// Plants the fault at one call after the other, until there are no more; some at once, since each waits a little.
    func row() async throws -> Row {
        let start = ContinuousClock.now
        var row = Row(fault: "\(kind.rawValue) at the n-th call, every n")
        for length in isLong ? [1, 2, 4] : [1] {
            var isReached = true
            var first = 1
            while isReached {
                let rows = try await withThrowingTaskGroup(of: (Row, Bool).self) { group in
                    for call in first..<first + 8 {
                        group.addTask { try await run(FailingCalls(first: call, length: length, kind: kind)) }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                for (other, _) in rows { row.add(other) }
                isReached = rows.allSatisfy(\.1)
                first += 8
            }
        }
        row.seconds = start.duration(to: .now) / .seconds(1)
        // Each message's beginning is a call at least: fewer would mean that not all of them are counted.
        if row.runs < Self.messages { row.broken.append("only \(row.runs) calls of the stores were reached") }
        return row
    }

    /// One run; and whether the fault was reached.
    private func run(_ calls: FailingCalls) async throws -> (Row, Bool) {
        let folder = try Folder()
        let handled = Mutex<[Int]>([])
        let transport = RepeatingTransport(count: Self.messages)
        var row = Row(fault: "")
        row.messages = Self.messages
        do {
            let database = try SQLiteDatabase(directory: folder.path)
            let inbox = try SQLiteInbox(database)
            let seen = try SQLiteSeenStore(writtenBy: inbox)
            let letters = FailingLetters(store: try SQLiteDeadLetterStore(writtenBy: inbox), calls: calls)
            let receiver = PushReceiver(deadLetters: letters) {
                Deduplicator(store: seen, secret: database.secret)
                LoopGuard()
                ScopeFilter()
            }
            receiver.onPushToApp { event, _ in
                let number = NumberedMessage.number(sentAt: event.message.sentAt ?? 0)
                if number % 7 == 0 { throw HandlerFailure() }
                handled.withLock { $0.append(number) }
            }
            var delivery = DeliverySettings()
            delivery.attempts = 2
            delivery.backoff = .milliseconds(1)
            delivery.maxBackoff = .milliseconds(10)
            let service = PushService(
                receiver, [transport], inbox: FailingInbox(inbox: inbox, calls: calls), delivery: delivery)
            // It ends when the transport has no more, and all is handled.
            let report = try await service.run()
            if report.left > 0 { row.broken.append("call \(calls.first): \(report.left) are left") }
            if inbox.count > 0 { row.broken.append("call \(calls.first): \(inbox.count) are in the inbox") }
            database.close()
        }
        let letters = try Database.check(folder.path, in: folder.path).letters.map(\.number)
        let numbers = handled.withLock { $0 }
        row.lost = Set(1...Self.messages).subtracting(numbers).subtracting(letters).count
        row.twice = numbers.count - Set(numbers).count
        row.letters = letters.count
        if row.lost > 0 { row.broken.append("call \(calls.first): \(row.lost) lost") }
        if row.twice > 0 { row.broken.append("call \(calls.first): \(row.twice) handled twice") }
        if letters.count != Self.messages / 7 {
            row.broken.append("call \(calls.first): \(letters.count) letters, not \(Self.messages / 7)")
        }
        row.runs = calls.wasReached ? 1 : 0
        return (row, calls.wasReached)
    }
}

/// Counts the calls of all stores of a run, and has some of them fail.
final class FailingCalls: Sendable {
    let first: Int
    private let length: Int
    private let kind: DiskFaults.Kind
    private let count = Atomic<Int>(0)

    init(first: Int, length: Int, kind: DiskFaults.Kind) {
        self.first = first
        self.length = length
        self.kind = kind
    }

    var wasReached: Bool { count.load(ordering: .relaxed) >= first }

    /// Counts a call, and throws if it is to fail.
    func pass() throws {
        let number = count.add(1, ordering: .relaxed).newValue
        guard (first..<first + length).contains(number) else { return }
        switch kind {
        case .full: throw SQLiteError.full(path: "planted")
        // SQLITE_IOERR_FSYNC
        case .inputOutput: throw SQLiteError.inputOutput(path: "planted", ErrorNumber(rawValue: EIO), code: 1034)
        }
    }
}

private struct FailingInbox: Inbox {
    let inbox: SQLiteInbox
    let calls: FailingCalls

    var isDurable: Bool { true }

    func add(_ payloads: [RawPayload]) throws -> [UInt64] {
        try calls.pass()
        return try inbox.add(payloads)
    }

    func record(_ records: [InboxRecord]) async throws {
        try calls.pass()
        try await inbox.record(records)
    }

    func entries(after id: UInt64, limit: Int) throws -> [InboxEntry] {
        try inbox.entries(after: id, limit: limit)
    }

    func entries(of ids: [UInt64]) throws -> [InboxEntry] { try inbox.entries(of: ids) }
}

private struct FailingLetters: DeadLetterStore {
    let store: SQLiteDeadLetterStore
    let calls: FailingCalls

    func add(_ letter: DeadLetter) throws -> UInt64 {
        try calls.pass()
        return try store.add(letter)
    }

    func letters() throws -> [DeadLetter] { try store.letters() }
    func remove(_ id: UInt64) throws -> Bool { try store.remove(id) }
    var count: Int { store.count }
}

/// Hands numbered messages over, three at a time, and again until they are taken.
private struct RepeatingTransport: PushTransport {
    let count: Int
    let name = "repeating"
    let abilities: TransportAbilities = [.acknowledges, .redelivers]

    func run(_ intake: PushIntake) async throws {
        var next = 1
        while next <= count {
            let numbers = next..<min(next + 3, count + 1)
            let payloads = numbers.map { RawPayload(NumberedMessage.payload($0), transport: .mqtt) }
            do throws(IntakeRefusal) {
                _ = try intake.submit(payloads)
                next = numbers.upperBound
            } catch {
                if case .stopping = error { return }
                try await Task.sleep(for: .milliseconds(1))
            }
        }
    }
}
