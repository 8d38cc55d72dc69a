#if SQLite
public import KiiPush
import Synchronization

/// A dead-letter store that keeps its letters over a restart.
///
/// A letter is on disk when ``add(_:)`` returns, and gone from it when ``remove(_:)`` does; for one that is put aside by
/// a service, ``init(writtenBy:capacity:bytes:clock:)`` has something better. It refuses a letter rather than
/// forget one, as the store in memory does. Numbers go on where the process before stopped.
///
/// The times of a letter that an earlier process put aside are on this process's clock: exact within one boot; after a
/// reboot by the wall clock, and never later than the moment when this store was made.
public final class SQLiteDeadLetterStore: DeadLetterStore {
    let database: SQLiteDatabase
    /// What writes the letters of its payloads; nil when the store does that itself.
    private let inbox: SQLiteInbox?
    private let scale: TimeScale
    /// The number of the last letter of an earlier process.
    private let lastOfOthers: Int64
    // Its lock is taken after the database's.
    private let table: LetterTable

    /// Makes a store of the letters that the database has.
    ///
    /// - Parameters:
    ///   - database: the database, which can have one dead-letter store at a time.
    ///   - capacity: how many letters it keeps; what is there beyond that stays.
    ///   - bytes: how many bytes their payloads may have in all.
    ///   - clock: the receiver's clock.
    /// - Throws: ``SQLiteError``, when the file cannot be read.
    public convenience init(
        _ database: SQLiteDatabase, capacity: Int = 1000, bytes: Int = 8 << 20, clock: any ReceiverClock = SystemClock()
    ) throws(SQLiteError) {
        try self.init(database, nil, capacity, bytes, clock)
    }

    /// Makes a store of the letters that an inbox's database has, and leaves to that inbox to write those of its payloads.
    ///
    /// For a service that has both: a letter is written together with the note that its payload has ended, so that no
    /// crash finds the one without the other, and the letter there twice. What is promised then of a letter that has an
    /// ``KiiPush/DeadLetter/inboxID``, instead of being on disk when ``add(_:)`` returns:
    /// - It counts, is listed and can be removed at once, and is on disk when the next note of its payload is.
    /// - After a crash before that the payload is in the inbox still, and the letter is not there. Its number may be
    ///   given again.
    ///
    /// - Parameters:
    ///   - inbox: the inbox; its database can have one dead-letter store at a time.
    ///   - capacity: how many letters it keeps; what is there beyond that stays.
    ///   - bytes: how many bytes their payloads may have in all.
    ///   - clock: the receiver's clock.
    /// - Throws: ``SQLiteError``, when the file cannot be read.
    public convenience init(
        writtenBy inbox: SQLiteInbox, capacity: Int = 1000, bytes: Int = 8 << 20,
        clock: any ReceiverClock = SystemClock()
    ) throws(SQLiteError) {
        try self.init(inbox.database, inbox, capacity, bytes, clock)
    }

    private init(
        _ database: SQLiteDatabase, _ inbox: SQLiteInbox?, _ capacity: Int, _ bytes: Int, _ clock: any ReceiverClock
    ) throws(SQLiteError) {
        try database.claim(Self.kind)
        self.database = database
        self.inbox = inbox
        scale = database.timeScale(clock)
        do throws(SQLiteError) {
            let (room, last) = try database.withConnection { connection throws(SQLiteError) in
                (
                    try connection.letterRoom(LetterRoom(capacity: capacity, bytes: bytes)),
                    try connection.number("SELECT seq FROM sqlite_sequence WHERE name = 'deadLetters'") ?? 0
                )
            }
            table = LetterTable(room, last: last)
            lastOfOthers = last
        } catch {
            database.disclaim(Self.kind)
            throw error
        }
    }

    private static let kind = "dead-letter"

    deinit { database.disclaim(Self.kind) }

    /// True: its letters survive a crash and a loss of power, if the disk keeps what it confirms.
    public var isDurable: Bool { true }

    /// Keeps a letter and returns its number.
    ///
    /// - Throws: ``KiiPush/DeadLettersFull`` when it is beyond a bound, ``SQLiteError`` when it cannot be written.
    public func add(_ letter: DeadLetter) throws -> UInt64 {
        let time = scale.stored(letter.arrivedAt, now: database.machineTime)
        // Nobody ends a payload but who puts it aside, so it does not go away meanwhile.
        if let inbox, let payload = letter.inboxID.flatMap({ Int64(exactly: $0) }), inbox.writer.has(payload) {
            let number = try table.add(letter, waits: true)
            let queued = QueuedLetter(table: table, number: number, letter: letter, time: time)
            inbox.writer.queue(queued, of: payload)
            return UInt64(number)
        }
        let number = try table.add(letter, waits: false)
        do throws(SQLiteError) {
            try database.transaction { connection throws(SQLiteError) in try connection.insert(letter, number, time) }
        } catch {
            table.forget(letter.reason, size: letter.payload.bytes.count)
            throw error
        }
        return UInt64(number)
    }

    /// All letters, oldest first.
    ///
    /// - Throws: ``SQLiteError``, when they cannot be read.
    public func letters() throws -> [DeadLetter] {
        try database.withConnection { connection throws(SQLiteError) in
            var routes: [Int64: [String]] = [:]
            try connection.each("SELECT letter, route FROM deadLetterRoutes ORDER BY letter, position") { row in
                routes[row.integer(0), default: []].append(row.text(1) ?? "")
            }
            var letters: [DeadLetter] = []
            var isWhole = true
            try connection.each(
                """
                SELECT id, reason, boot, monotonic, wall, transport, transportMessageID, isRedelivered,
                    payloadArrivedAfter, payload, attempts, rulesGeneration, cause FROM deadLetters ORDER BY id
                """
            ) { row in
                let letter = self.letter(row, routes[row.integer(0)] ?? [])
                if let letter { letters.append(letter) } else { isWhole = false }
            }
            // What this release does not know needs a newer version of the file, so it is no letter of ours.
            guard isWhole else { throw .corrupt(path: database.path) }
            let waiting = table.waiting.map { letter in
                var letter = letter
                letter.inboxID = nil
                letter.receivedAt = scale.stored(letter.arrivedAt, now: database.machineTime).wall / 1_000_000
                return letter
            }
            return waiting.isEmpty ? letters : (letters + waiting).sorted { $0.id < $1.id }
        }
    }

    private func letter(_ row: borrowing SQLRow, _ routes: [String]) -> DeadLetter? {
        guard let text = row.text(1), let reason = DeadLetter.Reason(rawValue: text) else { return nil }
        let id = row.integer(0)
        guard id > 0 else { return nil }
        let stored = StoredTime(boot: row.integer(2), monotonic: row.integer(3), wall: row.integer(4))
        let arrivedAt = scale.instant(stored, isOwn: id > lastOfOthers)
        var payload = RawPayload(row.blob(9))
        payload.transport = row.text(5).map { Transport($0) }
        payload.transportMessageID = row.text(6)
        payload.isRedelivered = row.integer(7) != 0
        payload.arrivedAt = row.integerOrNull(8).map { arrivedAt.advanced(by: .nanoseconds($0)) }
        var letter = DeadLetter(
            id: UInt64(id), payload: payload, reason: reason, routes: routes, arrivedAt: arrivedAt)
        letter.receivedAt = stored.wall / 1_000_000
        letter.attempts = Int(row.integer(10))
        letter.rulesGeneration = Int(row.integer(11))
        letter.cause = row.text(12)
        return letter
    }

    /// How many letters there are.
    public var count: Int { table.count }

    /// Forgets a letter; whether there was one of that number.
    ///
    /// - Throws: ``SQLiteError``, when that cannot be written; the letter is still there then.
    @discardableResult
    public func remove(_ id: UInt64) throws -> Bool {
        guard let id = Int64(exactly: id) else { return false }
        return try database.withConnection { connection throws(SQLiteError) in
            if table.remove(id) { return true }
            var found: (reason: DeadLetter.Reason, size: Int)?
            try connection.each("SELECT reason, length(payload) FROM deadLetters WHERE id = ?", [.integer(id)]) { row in
                found = (DeadLetter.Reason(rawValue: row.text(0) ?? "") ?? .failed, Int(row.integer(1)))
            }
            guard let (reason, size) = found else { return false }
            try connection.transaction { connection throws(SQLiteError) in
                try connection.run("DELETE FROM deadLetters WHERE id = ?", .integer(id))
            }
            table.forget(reason, size: size)
            return true
        }
    }
}

extension Connection {
    /// What an empty store's room is with the letters that are there.
    fileprivate mutating func letterRoom(_ empty: LetterRoom) throws(SQLiteError) -> LetterRoom {
        var room = empty
        try each("SELECT reason, count(*), sum(length(payload)) FROM deadLetters GROUP BY reason") { row in
            let reason = DeadLetter.Reason(rawValue: row.text(0) ?? "") ?? .failed
            room.add(reason, count: Int(row.integer(1)), bytes: Int(row.integer(2)))
        }
        return room
    }
}
#endif
