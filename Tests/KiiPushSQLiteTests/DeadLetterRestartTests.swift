#if SQLite
import KiiPush
import KiiPushTesting
import Testing

@testable import KiiPushSQLite

/// What a dead-letter store knows after it was closed and opened again.
struct DeadLetterRestartTests {
    private let machine = Machine()
    private let folder = StateFolder()
    private var directory: String { folder.directory }

    private func process<Result>(
        capacity: Int = 1000, clock: ManualClock = ManualClock(),
        _ body: (SQLiteDeadLetterStore, ManualClock) throws -> Result
    ) throws -> Result {
        let database = try machine.open(directory)
        return try body(try SQLiteDeadLetterStore(database, capacity: capacity, bytes: 1000, clock: clock), clock)
    }

    private func letter(_ size: Int, at time: MonotonicInstant = .seconds(0)) -> DeadLetter {
        var payload = RawPayload([UInt8](repeating: 7, count: size), transport: .mqtt, transportMessageID: "m1")
        payload.arrivedAt = time
        return DeadLetter(payload: payload, reason: .backlogFull, routes: ["a", "b"], arrivedAt: time)
    }

    @Test("a letter is whole after a restart, and numbers go on, also past one that was removed")
    func restart() throws {
        var first = letter(10)
        try process { (store, _) throws in
            first.id = try store.add(first)
            #expect(try store.remove(store.add(letter(1))))
        }
        try process { (store, _) throws in
            let found = try #require(try store.letters().first)
            #expect(found.payload == first.payload && found.id == first.id && found.reason == first.reason)
            #expect(found.routes == first.routes && found.arrivedAt == first.arrivedAt)
            #expect(try store.add(letter(1)) == 3)
            #expect(try store.remove(1))
        }
        try process { (store, _) throws in #expect(try store.letters().map(\.id) == [3]) }
    }

    @Test("what is there counts after a restart, by number and by bytes")
    func bounds() throws {
        try process { (store, _) throws in for size in [400, 500] { _ = try store.add(letter(size)) } }
        try process { (store, _) throws in
            #expect(throws: DeadLettersFull(count: 2, bytes: 900)) { try store.add(letter(101)) }
            #expect(!store.isFull)
            #expect(try store.add(letter(100)) == 3)
            #expect(store.isFull)
        }
        try process(capacity: 2) { (store, _) throws in
            #expect(throws: DeadLettersFull(count: 3, bytes: 1000)) { try store.add(letter(0)) }
            #expect(try store.remove(1))
            #expect(throws: DeadLettersFull(count: 2, bytes: 600)) { try store.add(letter(0)) }
            #expect(try store.letters().map(\.id) == [2, 3])
        }
    }

    @Test("the routes that a replay has left are on disk, unless another letter was merged since")
    func routesLeft() throws {
        var read = letter(10)
        try process { (store, _) throws in
            read.id = try store.add(read)
            try store.setRoutes(["b"], of: read)
        }
        try process { (store, _) throws in
            #expect(try store.letters().map(\.routes) == [["b"]])
            read.summary = DeadLetter.Summary(count: 2, firstArrivedAt: .seconds(0), bytesLost: 0)
            try store.setRoutes([], of: read)
            #expect(try store.letters().map(\.routes) == [["b"]])
        }
    }

    private func letter(_ size: Int, key: UInt64, at time: MonotonicInstant = .seconds(0)) -> DeadLetter {
        var letter = letter(size, at: time)
        letter.keys = [DedupeKey(first: key, second: key)]
        return letter
    }

    @Test("a letter that an earlier boot wrote has no later time because another was counted into it")
    func countedInto() throws {
        try process { (store, _) throws in _ = try store.add(letter(150, key: 7)) }
        machine.boot("second")
        machine.jump(-946_728_000)
        try process(clock: ManualClock(start: .seconds(100))) { (store, _) throws in
            #expect(try store.add(letter(100, key: 7, at: .seconds(100))) == 1)
            let found = try store.letters()
            #expect(found.map(\.count) == [2])
            #expect(found.map(\.arrivedAt) == [.seconds(100)])
        }
    }

    @Test("a letter that could not be written into another one takes no capacity")
    func failedFold() throws {
        try process(capacity: 10) { (store, _) throws in
            _ = try store.add(letter(50, key: 7))
            try store.database.run("PRAGMA query_only = ON")
            #expect(throws: SQLiteError.self) { try store.add(letter(150, key: 7)) }
            try store.database.run("PRAGMA query_only = OFF")
            #expect(try store.add(letter(950)) == 2)
            #expect(store.isFull)
            #expect(try store.letters().map(\.count) == [1, 1])
        }
    }

    @Test("a letter's time is on the clock of the process that reads it")
    func times() throws {
        try process(clock: ManualClock(start: .seconds(7))) { (store, _) throws in
            _ = try store.add(letter(1, at: .seconds(5)))
        }
        // Two seconds before the first process's clock was looked at, then thirty more.
        machine.pass(30)
        func arrival() throws -> MonotonicInstant? {
            try process(clock: ManualClock(start: .seconds(100))) { (store, _) throws in
                try store.letters().first?.arrivedAt
            }
        }
        #expect(try arrival() == .seconds(100 - 32))
        machine.boot("second")
        machine.pass(8)
        #expect(try arrival() == .seconds(100 - 40))
        machine.jump(-946_728_000)
        #expect(try arrival() == .seconds(100))
    }
}
#endif
