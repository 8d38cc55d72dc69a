#if SQLite
public import KiiPush

/// A breaker store whose open breakers survive a crash, a reboot and a loss of power.
///
/// ```swift
/// let database = try SQLiteDatabase(directory: directory)
/// let loopGuard = LoopGuard(breakers: try SQLiteBreakerStore(database))
/// ```
///
/// The keys are made with the database's ``SQLiteDatabase/secret``. Without such a store the bound of a loop holds for
/// one process only: each restart of the agent would give a loop its messages again. Beyond the guarantees of every
/// breaker store:
/// - When ``write(_:closed:)`` returns, the changes are on disk. It blocks its thread for one write, and longer while
///   another store of the database writes.
/// - Within one boot a wait continues by the monotonic clock, also while no process runs. After a reboot the wall clock
///   counts: a wait that is over by it ends when this store is made, and the guard limits what is left to the breaker's
///   wait.
/// - A breaker takes about 100 bytes in the file.
public final class SQLiteBreakerStore: BreakerStore {
    let database: SQLiteDatabase
    private let capacity: Int
    private let scale: TimeScale

    /// Makes a store of the database's breakers.
    ///
    /// - Parameters:
    ///   - database: the database, which can have one breaker store at a time.
    ///   - capacity: how many breakers it keeps; beyond that, it forgets those that opened longest ago.
    ///   - clock: the loop guard's clock.
    /// - Throws: ``SQLiteError`` if the database is closed or has a breaker store already.
    public init(
        _ database: SQLiteDatabase, capacity: Int = LoopGuard.mostBreakers, clock: any ReceiverClock = SystemClock()
    ) throws(SQLiteError) {
        try database.claim(Self.kind)
        self.database = database
        self.capacity = max(capacity, 0)
        scale = database.timeScale(clock)
    }

    private static let kind = "breaker"

    deinit { database.disclaim(Self.kind) }

    /// The database's secret.
    public var secret: DedupeSecret { database.secret }

    /// The breakers that are kept, the one that opened longest ago first.
    ///
    /// - Throws: ``SQLiteError`` if they cannot be read.
    public func breakers() throws -> [TrippedBreaker] {
        try database.withConnection { connection throws(SQLiteError) in
            var breakers: [TrippedBreaker] = []
            try connection.each(
                "SELECT isWide, first, second, coolDown, boot, monotonic, wall FROM breakers ORDER BY number"
            ) { row in
                let digest = DedupeKey(
                    first: UInt64(bitPattern: row.integer(1)), second: UInt64(bitPattern: row.integer(2)))
                let until = StoredTime(boot: row.integer(4), monotonic: row.integer(5), wall: row.integer(6))
                breakers.append(
                    TrippedBreaker(
                        key: TrippedBreaker.Key(isWide: row.integer(0) != 0, digest: digest),
                        coolDown: .nanoseconds(row.integer(3)), until: scale.end(until)))
            }
            return breakers
        }
    }

    /// Stores breakers that have opened, and removes those that have closed; on disk when it returns.
    ///
    /// - Throws: ``SQLiteError`` if that cannot be written; nothing has changed then.
    public func write(_ opened: [TrippedBreaker], closed: [TrippedBreaker.Key]) throws {
        let now = database.machineTime
        try database.transaction { connection throws(SQLiteError) in
            for key in closed { try connection.delete(key) }
            for breaker in opened { try connection.insert(breaker, scale.stored(breaker.until, now: now)) }
            guard !opened.isEmpty else { return }
            try connection.run(
                """
                DELETE FROM breakers WHERE number <=
                    (SELECT number FROM breakers ORDER BY number DESC LIMIT 1 OFFSET ?)
                """, .integer(Int64(capacity)))
        }
    }
}

extension Connection {
    fileprivate mutating func insert(_ breaker: TrippedBreaker, _ until: StoredTime) throws(SQLiteError) {
        try delete(breaker.key)
        try run(
            "INSERT INTO breakers VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", .integer(breaker.key.isWide ? 1 : 0),
            .integer(Int64(bitPattern: breaker.key.digest.first)),
            .integer(Int64(bitPattern: breaker.key.digest.second)),
            .integer(breaker.coolDown.inNanoseconds), .integer(until.boot),
            .integer(until.monotonic), .integer(until.wall))
    }

    fileprivate mutating func delete(_ key: TrippedBreaker.Key) throws(SQLiteError) {
        try run(
            "DELETE FROM breakers WHERE isWide = ? AND first = ? AND second = ?", .integer(key.isWide ? 1 : 0),
            .integer(Int64(bitPattern: key.digest.first)), .integer(Int64(bitPattern: key.digest.second)))
    }
}
#endif
