#if SQLite
public import KiiPush
import Synchronization

/// A dead-letter store that survives a restart.
///
/// A dead letter is on disk when ``add(_:)`` returns, and removed from it when ``remove(_:)-(UInt64)`` returns; for
/// those of a service, see ``init(writtenBy:capacity:bytes:clock:)``. Like the store in memory, it refuses a dead
/// letter rather than forget one. Numbers continue where the process before stopped. Times of an earlier process are
/// converted to this one's clock: exactly within one boot, else by the wall clock, and never later than now.
public final class SQLiteDeadLetterStore: DeadLetterStore {
    let database: SQLiteDatabase
    private let claim: StoreClaim
    /// Writes the dead letters of its payloads; nil when the store does that itself.
    private let inbox: SQLiteInbox?
    private let scale: TimeScale
    // Locked after the database.
    private let table: LetterTable

    /// Makes a store of the database's dead letters.
    ///
    /// - Parameters:
    ///   - database: the database, which can have one dead-letter store at a time.
    ///   - capacity: how many dead letters it keeps; more that exist already stay.
    ///   - bytes: the most bytes of their payloads together.
    ///   - clock: the receiver's clock.
    /// - Throws: ``SQLiteError`` if the file cannot be read.
    public convenience init(
        _ database: SQLiteDatabase, capacity: Int = 1000, bytes: Int = 8 << 20, clock: any ReceiverClock = SystemClock()
    ) throws(SQLiteError) {
        try self.init(database, nil, capacity, bytes, clock)
    }

    /// Makes a store of the dead letters in an inbox's database; the inbox writes those of its payloads.
    ///
    /// For a service that has both: a dead letter is written together with the record that its payload has ended, so
    /// that a crash never leaves one without the other. For a dead letter that has a `DeadLetter.inboxID`,
    /// the store then guarantees, instead of being on disk when ``add(_:)`` returns:
    /// - It counts, is listed and can be removed at once, and is on disk with the next record of its payload.
    /// - After a crash before that, the payload is still in the inbox, and the dead letter does not exist. Its number
    ///   may be assigned again.
    ///
    /// The database can have one dead-letter store at a time. Dead letters beyond `capacity` that exist already stay;
    /// `bytes` bounds their payloads together.
    ///
    /// - Throws: ``SQLiteError`` if the file cannot be read.
    public convenience init(
        writtenBy inbox: SQLiteInbox, capacity: Int = 1000, bytes: Int = 8 << 20,
        clock: any ReceiverClock = SystemClock()
    ) throws(SQLiteError) {
        try self.init(inbox.database, inbox, capacity, bytes, clock)
    }

    private init(
        _ database: SQLiteDatabase, _ inbox: SQLiteInbox?, _ capacity: Int, _ bytes: Int, _ clock: any ReceiverClock
    ) throws(SQLiteError) {
        claim = try database.claim("dead-letter")
        self.database = database
        self.inbox = inbox
        scale = database.timeScale(clock)
        table = try database.withConnection { connection throws(SQLiteError) in
            let (room, ids) = try connection.letterRoom(DeadLetterQuota(capacity: capacity, bytes: bytes))
            let last = try connection.lastNumber(of: "deadLetters")
            // A number that no store can have assigned.
            guard last >= 0 else { throw .corrupt(path: connection.path) }
            return LetterTable(room, last: last, inFile: ids)
        }
    }

    /// True: its dead letters survive a crash and a loss of power, if the disk keeps what it confirms.
    public var isDurable: Bool { true }

    /// Adds a dead letter and returns its number.
    ///
    /// - Throws: `DeadLettersFull` if it exceeds a bound, ``SQLiteError`` if it cannot be written.
    public func add(_ letter: DeadLetter) throws -> UInt64 {
        let time = scale.stored(letter.arrivedAt, now: database.machineTime)
        let waiting = try table.add(letter, time)
        // Only the caller that dead-letters a payload ends it, so it stays meanwhile.
        if let inbox, let payload = letter.inboxID.flatMap({ Int64(exactly: $0) }), inbox.writer.has(payload) {
            inbox.writer.queue(waiting, in: table, of: payload)
            return UInt64(waiting.number)
        }
        do throws(SQLiteError) {
            try database.withConnection { connection throws(SQLiteError) in
                // Otherwise it was removed meanwhile, with the dead letter that it was to be merged into.
                guard table.isWaiting(waiting) else { return }
                try connection.transaction { connection throws(SQLiteError) in try connection.write(waiting) }
                table.hasWritten(waiting)
            }
        } catch {
            table.forget(waiting)
            throw error
        }
        return UInt64(waiting.number)
    }

    /// All dead letters, oldest first.
    ///
    /// - Throws: ``SQLiteError`` if they cannot be read.
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
                    payloadArrivedAfter, payload, attempts, rulesGeneration, cause, count, bytesLost, firstBoot,
                    firstMonotonic, firstWall, mqtt FROM deadLetters ORDER BY id
                """
            ) { row in
                let letter = self.letter(row, routes[row.integer(0)] ?? [])
                if let letter { letters.append(letter) } else { isWhole = false }
            }
            // A reason that this release does not know needs a newer version of the file, so it cannot occur here.
            guard isWhole else { throw .corrupt(path: database.path) }
            return addWaiting(to: letters)
        }
    }

    /// The dead letters of the file with those that wait.
    private func addWaiting(to letters: [DeadLetter]) -> [DeadLetter] {
        let waiting = table.waiting
        if waiting.isEmpty { return letters }
        let now = database.machineTime
        var all = Dictionary(letters.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
        for waiting in waiting {
            var letter = waiting.letter
            (letter.id, letter.inboxID) = (UInt64(waiting.number), nil)
            letter.receivedAt = scale.stored(letter.arrivedAt, now: now).wall / 1_000_000
            letter.keys = []
            if case .folded(let id, let growth) = waiting.place, let last = all[id]?.arrivedAt {
                all[id]?.fold(letter, replacesPayload: growth != nil && letter.arrivedAt >= last)
            } else if let newer = all[letter.id] {
                letter.fold(newer, replacesPayload: true)
                all[letter.id] = letter
            } else {
                all[letter.id] = letter
            }
        }
        return all.values.sorted { $0.id < $1.id }
    }

    private func letter(_ row: borrowing SQLRow, _ routes: [String]) -> DeadLetter? {
        guard let text = row.text(1), let reason = DeadLetter.Reason(stored: text) else { return nil }
        let id = row.integer(0)
        guard id > 0 else { return nil }
        let stored = row.time(2)
        let arrivedAt = scale.instant(stored)
        var payload = RawPayload(row.blob(9))
        payload.transport = row.text(5).map { Transport($0) }
        payload.transportMessageID = row.text(6)
        payload.isRedelivered = row.integer(7) != 0
        payload.mqtt = row.text(18).flatMap { MQTTPublish(json: $0) }
        payload.arrivedAt = row.integerOrNull(8).map { arrivedAt.advanced(by: .nanoseconds($0)) }
        var letter = DeadLetter(
            id: UInt64(id), payload: payload, reason: reason, routes: routes, arrivedAt: arrivedAt)
        letter.receivedAt = stored.wall / 1_000_000
        letter.attempts = Int(row.integer(10))
        letter.rulesGeneration = Int(row.integer(11))
        letter.cause = row.text(12)
        if !row.isNull(15) {
            let first = row.time(15)
            letter.summary = DeadLetter.Summary(
                count: Int(row.integer(13)), firstArrivedAt: scale.instant(first),
                firstReceivedAt: first.wall / 1_000_000, bytesLost: Int(row.integer(14)))
        }
        return letter
    }

    /// How many dead letters there are.
    public var count: Int { table.count }

    /// Whether its dead letters or their bytes have reached the bound, in constant time.
    public var isFull: Bool { table.isFull }

    /// Whether there is a dead letter of that number, without reading the file.
    public func contains(_ id: UInt64) -> Bool { table.contains(id) }

    /// Removes a dead letter; returns whether there was one of that number.
    ///
    /// - Throws: ``SQLiteError`` if that cannot be written; the dead letter then still exists.
    @discardableResult
    public func remove(_ id: UInt64) throws -> Bool { try remove(id, ifCountIs: nil) }

    /// Removes a dead letter, unless others have been merged into it since it was read.
    ///
    /// - Throws: ``SQLiteError`` if that cannot be written; the dead letter then still exists.
    @discardableResult
    public func remove(_ letter: DeadLetter) throws -> Bool { try remove(letter.id, ifCountIs: letter.count) }

    /// Records which routes have still not handled a dead letter, unless others have been merged into it, or wait for
    /// that; does nothing for one that is not in the file yet.
    ///
    /// - Throws: ``SQLiteError`` if that cannot be written; the dead letter is then unchanged.
    public func setRoutes(_ routes: [String], of letter: DeadLetter) throws {
        guard let id = Int64(exactly: letter.id) else { return }
        try database.withConnection { connection throws(SQLiteError) in
            let count = try connection.number("SELECT count FROM deadLetters WHERE id = ?", .integer(id))
            guard count == Int64(letter.count) else { return }
            try connection.transaction { connection throws(SQLiteError) in try connection.setRoutes(routes, id) }
        }
    }

    private func remove(_ id: UInt64, ifCountIs count: Int?) throws -> Bool {
        guard let id = Int64(exactly: id) else { return false }
        return try database.withConnection { connection throws(SQLiteError) in
            try table.remove(id) { isInFile, waiting throws(SQLiteError) in
                if let count {
                    let written = try connection.number("SELECT count FROM deadLetters WHERE id = ?", .integer(id))
                    guard Int(written ?? 0) + waiting == count else { return false }
                }
                guard isInFile else { return true }
                try connection.transaction { connection throws(SQLiteError) in
                    try connection.run("DELETE FROM deadLetters WHERE id = ?", .integer(id))
                }
                return true
            }
        }
    }
}

extension DeadLetter.Reason {
    /// The name of a reason of earlier versions: too many messages waited in the loop guard.
    static let storedEarlier = "heldFull"

    /// Reads a stored reason; nil if it is unknown.
    init?(stored text: String) {
        if text == Self.storedEarlier { self = .backlogFull } else { self.init(rawValue: text) }
    }
}

extension Connection {
    /// The quota with the dead letters that exist already.
    fileprivate mutating func letterRoom(
        _ empty: DeadLetterQuota
    ) throws(SQLiteError) -> (room: DeadLetterQuota, ids: Set<Int64>) {
        var keys: [Int64: [DedupeKey]] = [:]
        try each("SELECT letter, first, second FROM deadLetterKeys ORDER BY letter, position") { row in
            keys[row.integer(0), default: []].append(
                DedupeKey(first: UInt64(bitPattern: row.integer(1)), second: UInt64(bitPattern: row.integer(2))))
        }
        var (room, ids) = (empty, Set<Int64>())
        try each("SELECT id, \(Self.sizeOfPayload) FROM deadLetters") { row in
            let id = row.integer(0)
            room.add(UInt64(bitPattern: id), bytes: Int(row.integer(1)), keys[id] ?? [])
            ids.insert(id)
        }
        return (room, ids)
    }
}
#endif
