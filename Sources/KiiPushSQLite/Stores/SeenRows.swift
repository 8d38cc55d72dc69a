#if SQLite
import KiiPush

/// The rows of the table `seen`, of each strength numbered in the order in which they were committed.
///
/// The file has at least those that the table in memory remembers: the last ones of each strength.
struct SeenRows: Sendable {
    /// The rows of one strength.
    private struct Window: Sendable {
        let strength: DedupeKeys.Strength
        let age: Int64
        let limit: Int
        var numbers: Range<Int64> = 1..<1
        /// How many were written since rows were last removed.
        var new = 0

        /// The strength as it is stored.
        var code: SQLValue { .integer(strength == .strong ? 1 : 0) }
    }

    private var strong: Window
    private var weak: Window

    init(_ window: SeenWindow) {
        strong = Window(strength: .strong, age: window.age.inNanoseconds, limit: window.count)
        // Rows of weak keys have the time of arrival, which does not say when the message ended: all of them are read.
        weak = Window(strength: .weak, age: .max, limit: window.count)
    }

    // MARK: Reading

    /// Calls back with every message that is still remembered, in the order of their commits, with the time of its row.
    mutating func read(
        from connection: inout Connection, _ scale: TimeScale, _ remember: (DedupeKeys, MonotonicInstant) -> Void
    ) throws(SQLiteError) {
        try Self.read(&strong, &connection, scale, remember)
        try Self.read(&weak, &connection, scale, remember)
    }

    private static func read(
        _ window: inout Window, _ connection: inout Connection, _ scale: TimeScale,
        _ remember: (DedupeKeys, MonotonicInstant) -> Void
    ) throws(SQLiteError) {
        let (strength, age) = (window.strength, window.age)
        guard let first = try connection.number("SELECT min(number) FROM seen WHERE strength = ?", window.code),
            let last = try connection.number("SELECT max(number) FROM seen WHERE strength = ?", window.code), last > 0
        else { return }
        guard last < .max / 2 else { throw .corrupt(path: connection.path) }
        window.numbers = first..<(last + 1)
        // The table in memory forgets from the front only, so the rows that it is filled with may begin later, but have
        // no gap.
        var isFront = true
        try connection.each(
            """
            SELECT first, second, otherFirst, otherSecond, boot, monotonic, wall FROM seen
                WHERE strength = ? AND number > ? ORDER BY number
            """, [window.code, .integer(last - Int64(window.limit))]
        ) { row in
            let time = StoredTime(boot: row.integer(4), monotonic: row.integer(5), wall: row.integer(6))
            if isFront, scale.age(time, limit: age) == age { return }
            isFront = false
            let instant = scale.instant.advanced(byNanoseconds: -scale.age(time, limit: age))
            remember(keys(row, strength), instant)
        }
    }

    private static func keys(_ row: borrowing SQLRow, _ strength: DedupeKeys.Strength) -> DedupeKeys {
        func key(_ column: Int32) -> DedupeKey {
            DedupeKey(
                first: UInt64(bitPattern: row.integer(column)), second: UInt64(bitPattern: row.integer(column + 1)))
        }
        return DedupeKeys(primary: key(0), secondary: row.isNull(2) ? nil : key(2), strength: strength)
    }

    // MARK: Writing

    /// Inserts a message as the last of its strength.
    mutating func insert(_ keys: DedupeKeys, _ time: StoredTime, _ connection: inout Connection) throws(SQLiteError) {
        switch keys.strength {
        case .strong: try Self.insert(keys, time, &strong, &connection)
        case .weak: try Self.insert(keys, time, &weak, &connection)
        }
    }

    private static func insert(
        _ keys: DedupeKeys, _ time: StoredTime, _ window: inout Window, _ connection: inout Connection
    ) throws(SQLiteError) {
        guard window.limit > 0 else { return }
        try connection.run(
            "INSERT INTO seen VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", window.code, .integer(window.numbers.upperBound),
            bits(keys.primary.first), bits(keys.primary.second), bits(keys.secondary?.first),
            bits(keys.secondary?.second), .integer(time.boot), .integer(time.monotonic), .integer(time.wall))
        window.numbers = window.numbers.lowerBound..<(window.numbers.upperBound + 1)
        window.new += 1
    }

    private static func bits(_ word: UInt64?) -> SQLValue { .integer(word.map { Int64(bitPattern: $0) }) }

    /// Removes what the table in memory has forgotten, the oldest first; of each strength up to 64 rows more than were
    /// added.
    ///
    /// The counts may include the new rows already.
    mutating func forget(
        allBut counts: SeenCounts, areNewCounted: Bool, _ connection: inout Connection
    ) throws(SQLiteError) {
        try Self.forget(counts.strong.remembered + (areNewCounted ? 0 : strong.new), &strong, &connection)
        try Self.forget(counts.weak.remembered + (areNewCounted ? 0 : weak.new), &weak, &connection)
    }

    private static func forget(
        _ remembered: Int, _ window: inout Window, _ connection: inout Connection
    ) throws(SQLiteError) {
        let kept = Int64(min(remembered, window.limit))
        let most = window.numbers.lowerBound + Int64(window.new) + 64
        let first = min(window.numbers.upperBound - kept, most)
        window.new = 0
        guard first > window.numbers.lowerBound else { return }
        try connection.run("DELETE FROM seen WHERE strength = ? AND number < ?", window.code, .integer(first))
        window.numbers = first..<window.numbers.upperBound
    }
}
#endif
