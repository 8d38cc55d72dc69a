#if SQLite
public import KiiPush
public import KiiPushDelivery
public import KiiPushSystem
import Synchronization

/// An inbox whose payloads survive a crash, a reboot and a loss of power.
///
/// ```swift
/// let database = try SQLiteDatabase(healing: directory)
/// let inbox = try SQLiteInbox(database)
/// let seen = try SQLiteSeenStore(writtenBy: inbox)
/// let letters = try SQLiteDeadLetterStore(writtenBy: inbox)
/// ```
///
/// Beyond the guarantees of every inbox:
/// - ``add(_:)`` writes on the thread that calls it, together with the records that wait. ``record(_:)`` waits without
///   blocking a thread: one thread writes all waiting records, up to 1,024, in one transaction. If that fails, it fails
///   for all records in it and changes nothing.
/// - It refuses payloads beyond its bounds rather than forget one.
/// - It accepts no payload when only a reserve of the disk is left, about 2 MB on a small disk and 10 MB on others, so
///   that stored payloads can always end, which frees space.
/// - With a deduplication store, a commit is on disk when a later record is; with a dead-letter store, a dead letter is
///   on disk when the next record of its payload is, and not before.
/// - Records that only begin attempts do not wait until the disk confirms them, unless an earlier process has added one
///   of the payloads. So a message waits for the disk twice, before it is acknowledged and when it has ended; one that
///   is answered also before it ends, and when the answer was delivered.
/// - A payload without a time of arrival has the time at which it was added.
public final class SQLiteInbox: Inbox {
    let database: SQLiteDatabase
    private let claim: StoreClaim
    let writer: InboxWriter
    private let capacity: Int
    private let mostBytes: Int
    private let clock: any ReceiverClock
    private let scale: TimeScale
    /// Nil only in tests.
    let reserve: Mutex<DiskReserve?>
    private let shortages: Shortages?

    /// Makes an inbox of the database's payloads.
    ///
    /// - Parameters:
    ///   - database: the database, which can have one inbox at a time.
    ///   - capacity: how many payloads it keeps; more that exist already stay.
    ///   - bytes: the most bytes of all payloads; a larger payload is never accepted.
    ///   - clock: the receiver's clock.
    ///   - shortages: notified when the disk has no space for more, and when it has again.
    /// - Throws: ``SQLiteError`` if the file cannot be read.
    public init(
        _ database: SQLiteDatabase, capacity: Int = 100_000, bytes: Int = 128 << 20,
        clock: any ReceiverClock = SystemClock(), shortages: Shortages? = nil
    ) throws(SQLiteError) {
        claim = try database.claim("inbox")
        self.database = database
        self.shortages = shortages
        self.capacity = max(capacity, 0)
        mostBytes = bytes
        self.clock = clock
        scale = database.timeScale(clock)
        let (pages, rows) = try database.withConnection { connection throws(SQLiteError) in
            (try connection.number("PRAGMA wal_autocheckpoint") ?? 1000, try InboxRows(&connection))
        }
        reserve = Mutex(DiskReserve(path: database.path, logPages: pages))
        writer = InboxWriter(database, rows)
    }

    /// True: its payloads survive a crash and a loss of power, if the disk keeps what it confirms.
    public var isDurable: Bool { true }

    /// Whether no earlier process has added a payload.
    package var isUnused: Bool { writer.lastOfOthers == 0 }

    /// How many payloads it keeps.
    public var count: Int { writer.rows.withLock { $0.count } }

    /// How many bytes they have.
    public var bytes: Int { writer.rows.withLock { $0.bytes } }

    /// Adds payloads, all or none, and returns their numbers in the same order; on disk when it returns.
    ///
    /// It blocks the thread for one write, and for another if records are being written.
    ///
    /// - Throws: ``InboxFull`` if they exceed a bound, ``InboxNoRoom`` if only the disk's reserve is left,
    ///   ``SQLiteError`` if they cannot be written.
    public func add(_ payloads: [RawPayload]) throws -> [UInt64] {
        if payloads.isEmpty { return [] }
        let size = payloads.reduce(0) { $0 + $1.size }
        let (time, now) = (clock.now, database.machineTime)
        let numbers = try noticingShortage {
            try writer.write { connection, changes throws(SQLiteError) -> Result<[Int64], any Error> in
                if let lack = try lack(for: payloads.count, size, &connection) { return .failure(lack) }
                for payload in payloads {
                    let id = try connection.insert(payload, scale.stored(payload.arrivedAt ?? time, now: now))
                    changes.added.append((id, payload.size))
                }
                return .success(changes.added.map(\.id))
            }
        }
        return numbers.map { UInt64($0) }
    }

    /// Whether ``add(_:)`` would keep a small payload now; it writes a page that changes nothing, without a sync.
    ///
    /// - Throws: what `add` would throw.
    public func check() throws {
        try noticingShortage {
            try database.withConnection { connection throws(SQLiteError) -> Result<Void, any Error> in
                if let lack = try lack(for: 1, 1024, &connection) { return .failure(lack) }
                try connection.transaction(isSynced: false) { connection throws(SQLiteError) in
                    // SQLite writes this page even if nothing changes, but no row that stays the same.
                    let version = try connection.number("PRAGMA user_version") ?? 0
                    try connection.run("PRAGMA user_version = \(version)")
                }
                return .success(())
            }
        }
    }

    /// Why payloads have no room; nil if they have.
    private func lack(
        for payloads: Int, _ size: Int, _ connection: inout Connection
    ) throws(SQLiteError) -> (any Error)? {
        let (count, bytes) = writer.rows.withLock { ($0.count, $0.bytes) }
        guard count + payloads <= capacity, bytes + size <= mostBytes else {
            return InboxFull(count: count, bytes: bytes)
        }
        return try reserve.withLock({ $0 })?.lack(for: size, &connection)
    }

    /// Runs a write, and begins a shortage if the disk has no space for it, or ends one if it has again.
    private func noticingShortage<Answer>(_ write: () throws -> Result<Answer, any Error>) throws -> Answer {
        do {
            let answer = try write().get()
            lookForRoom()
            return answer
        } catch {
            notice(error)
            throw error
        }
    }

    /// Begins a shortage if a write failed because the disk has no space for it.
    private func notice(_ error: any Error) {
        switch error {
        case let lack as InboxNoRoom: shortages?.begin(.disk, "no payload is accepted: \(lack)")
        case SQLiteError.full: shortages?.begin(.disk, "\(error)")
        default: break
        }
    }

    /// How much more than the reserve must be free before a shortage ends, so that it does not begin again at once.
    private static let spare = 32_768

    /// Ends the shortage if the disk has space again.
    private func lookForRoom() {
        guard let shortages, shortages.isShort(of: .disk), let reserve = reserve.withLock({ $0 }) else { return }
        let lack = try? database.withConnection { connection throws(SQLiteError) in
            try reserve.lack(for: Self.spare, &connection) != nil
        }
        if lack == false { shortages.end(.disk) }
    }

    /// Records the progress of payloads, written when it returns; many tasks may wait at once, and share a write.
    ///
    /// - Throws: ``SQLiteError`` if they cannot be written; nothing has changed then.
    public func record(_ records: [InboxRecord]) async throws {
        do { try await writer.write(records) } catch {
            notice(error)
            throw error
        }
        lookForRoom()
    }

    /// The payloads that an earlier process left, oldest first; with 0 for `id`, it also counts a crash for each
    /// payload that was in flight, once.
    ///
    /// - Throws: ``SQLiteError`` if they cannot be read, or the crashes cannot be recorded.
    public func entries(after id: UInt64, limit: Int) throws -> [InboxEntry] {
        guard let last = Int64(exactly: id), limit > 0 else { return [] }
        if id > 0 {
            return try database.withConnection { connection throws(SQLiteError) in
                try connection.entries(after: last, limit: limit, scale)
            }
        }
        writer.dropLetters()
        return try database.transaction { connection throws(SQLiteError) in
            try connection.countCrashes()
            return try connection.entries(after: 0, limit: limit, scale)
        }
    }

    /// Reads again payloads that have not ended, in the order of the numbers; blocks the thread while it reads.
    ///
    /// - Throws: ``SQLiteError`` if they cannot be read.
    public func entries(of ids: [UInt64]) throws -> [InboxEntry] {
        try database.withConnection { connection throws(SQLiteError) in
            var entries: [InboxEntry] = []
            for case let id? in ids.map({ Int64(exactly: $0) }) {
                if let entry = try connection.entry(id, scale) { entries.append(entry) }
            }
            return entries
        }
    }

    /// The first answers for a sender that were not delivered, also by an earlier process.
    ///
    /// - Throws: ``SQLiteError`` if they cannot be read.
    public func answers(of sender: String, limit: Int) throws -> [UnsentAnswer] {
        // Most inboxes never have one.
        guard writer.rows.withLock({ $0.hasAnswers }) else { return [] }
        return try database.withConnection { connection throws(SQLiteError) in
            try connection.answers(of: sender, limit: limit)
        }
    }
}

/// An inbox is full; it has capacity again when payloads end.
public struct InboxFull: Error, Sendable, Hashable, CustomStringConvertible {
    /// How many payloads are kept.
    public let count: Int
    /// How many bytes they have.
    public let bytes: Int

    /// Describes a full inbox.
    public init(count: Int, bytes: Int) {
        self.count = count
        self.bytes = bytes
    }

    /// What to do, in words.
    public var description: String {
        "\(counted(count, "payload")) of \(counted(bytes, "byte")) \(count == 1 ? "waits" : "wait") in the inbox "
            + "already; submit more when some of them have ended"
    }
}
#endif
