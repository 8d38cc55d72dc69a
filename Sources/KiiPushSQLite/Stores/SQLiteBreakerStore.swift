#if SQLite
public import KiiPush

/// A breaker store that keeps the loop guard's open breakers over a crash, a reboot and a loss of power.
///
/// ```swift
/// let database = try SQLiteDatabase(directory: directory)
/// let loopGuard = LoopGuard(breakers: try SQLiteBreakerStore(database))
/// ```
///
/// The keys are made with the database's ``SQLiteDatabase/secret``. Beyond the promises of every breaker store:
/// - When ``write(_:closed:)`` returns, what it was told is on disk. It blocks its thread for one write, and longer
///   while another store of the database writes.
/// - Within one boot a wait goes on by the monotonic clock, while nothing runs too. After a reboot the wall clock
///   counts: what is over by it is over since this store was made, and what is still to come is cut by the guard to the
///   breaker's wait.
/// - A breaker takes about 100 bytes in the file.
public final class SQLiteBreakerStore: BreakerStore {
    let database: SQLiteDatabase
    private let capacity: Int
    private let scale: TimeScale

    /// Makes a store of the breakers that the database has.
    ///
    /// - Parameters:
    ///   - database: the database, which can have one breaker store at a time.
    ///   - capacity: how many breakers it keeps; beyond, it forgets those that opened longest ago.
    ///   - clock: the loop guard's clock.
    /// - Throws: ``SQLiteError``, when the database is closed or has a breaker store already.
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
    /// - Throws: ``SQLiteError``, when they cannot be read.
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

    /// Keeps breakers that have opened, and forgets those that have closed; on disk when it returns.
    ///
    /// - Throws: ``SQLiteError``, when that cannot be written; nothing has changed then.
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
