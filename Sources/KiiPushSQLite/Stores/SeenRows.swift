#if SQLite
import KiiPush
import Synchronization

/// The rows of the table `seen`, of each strength numbered in the order in which they were committed: at least those
/// that the table in memory remembers, the last ones of each strength.
struct SeenRows: Sendable {
    private var strong: RowsOfStrength
    private var weak: RowsOfStrength

    init(_ window: SeenWindow) {
        strong = RowsOfStrength(strength: .strong, age: window.age.inNanoseconds, limit: window.count)
        // Rows of weak keys have the time of arrival, which does not say when the message ended: all of them are read.
        weak = RowsOfStrength(strength: .weak, age: .max, limit: window.count)
    }

    /// Calls back with every message that is still remembered, in the order of their commits, with the time of its row.
    mutating func read(
        from connection: inout Connection, _ scale: TimeScale, _ remember: (DedupeKeys, MonotonicInstant) -> Void
    ) throws(SQLiteError) {
        try strong.read(from: &connection, scale, remember)
        try weak.read(from: &connection, scale, remember)
    }

    /// Inserts a message as the last of its strength.
    mutating func insert(_ keys: DedupeKeys, _ time: StoredTime, _ connection: inout Connection) throws(SQLiteError) {
        switch keys.strength {
        case .strong: try strong.insert(keys, time, &connection)
        case .weak: try weak.insert(keys, time, &connection)
        }
    }

    /// Removes what the table in memory has forgotten, the oldest first; of each strength up to 64 rows more than were
    /// added, which the counts may include already.
    mutating func forget(
        allBut counts: SeenCounts, areNewCounted: Bool, _ connection: inout Connection
    ) throws(SQLiteError) {
        try strong.forget(allBut: counts.strong.remembered, areNewCounted, &connection)
        try weak.forget(allBut: counts.weak.remembered, areNewCounted, &connection)
    }
}

private struct RowsOfStrength: Sendable {
    let strength: DedupeKeys.Strength
    let age: Int64
    let limit: Int
    var numbers: Range<Int64> = 1..<1
    /// How many were written since rows were last removed.
    var new = 0

    private var code: SQLValue { .integer(strength == .strong ? 1 : 0) }

    mutating func read(
        from connection: inout Connection, _ scale: TimeScale, _ remember: (DedupeKeys, MonotonicInstant) -> Void
    ) throws(SQLiteError) {
        let (strength, age) = (strength, age)
        guard let first = try connection.number("SELECT min(number) FROM seen WHERE strength = ?", code),
            let last = try connection.number("SELECT max(number) FROM seen WHERE strength = ?", code), last > 0
        else { return }
        guard last < .max / 2 else { throw .corrupt(path: connection.path) }
        numbers = first..<(last + 1)
        // The table in memory forgets from the front only, so the rows that it is filled with may begin later, but have
        // no gap.
        var isFront = true
        try connection.each(
            """
            SELECT first, second, otherFirst, otherSecond, boot, monotonic, wall FROM seen
                WHERE strength = ? AND number > ? ORDER BY number
            """, [code, .integer(last - Int64(limit))]
        ) { row in
            let time = row.time(4)
            if isFront, scale.age(time, limit: age) == age { return }
            isFront = false
            let instant = scale.instant.advanced(byNanoseconds: -scale.age(time, limit: age))
            remember(Self.keys(row, strength), instant)
        }
    }

    private static func keys(_ row: borrowing SQLRow, _ strength: DedupeKeys.Strength) -> DedupeKeys {
        func key(_ column: Int32) -> DedupeKey {
            DedupeKey(
                first: UInt64(bitPattern: row.integer(column)), second: UInt64(bitPattern: row.integer(column + 1)))
        }
        return DedupeKeys(primary: key(0), secondary: row.isNull(2) ? nil : key(2), strength: strength)
    }

    mutating func insert(_ keys: DedupeKeys, _ time: StoredTime, _ connection: inout Connection) throws(SQLiteError) {
        guard limit > 0 else { return }
        func bits(_ word: UInt64?) -> SQLValue { .integer(word.map { Int64(bitPattern: $0) }) }
        try connection.run(
            "INSERT INTO seen VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", code, .integer(numbers.upperBound),
            bits(keys.primary.first), bits(keys.primary.second), bits(keys.secondary?.first),
            bits(keys.secondary?.second), .integer(time.boot), .integer(time.monotonic), .integer(time.wall))
        numbers = numbers.lowerBound..<(numbers.upperBound + 1)
        new += 1
    }

    mutating func forget(
        allBut remembered: Int, _ areNewCounted: Bool, _ connection: inout Connection
    ) throws(SQLiteError) {
        let kept = Int64(min(remembered + (areNewCounted ? 0 : new), limit))
        let first = min(numbers.upperBound - kept, numbers.lowerBound + Int64(new) + 64)
        new = 0
        guard first > numbers.lowerBound else { return }
        try connection.run("DELETE FROM seen WHERE strength = ? AND number < ?", code, .integer(first))
        numbers = first..<numbers.upperBound
    }
}

/// The rows of a deduplication store in its file, for those that write there; read and changed under the database's
/// lock.
final class SeenFile: Sendable {
    private let state: Mutex<SeenRows>

    init(_ rows: SeenRows) { state = Mutex(rows) }

    /// The rows, to be changed and kept when the transaction has been committed.
    var rows: SeenRows { state.withLock { $0 } }

    func keep(_ rows: SeenRows) { state.withLock { $0 = rows } }
}

/// A commit that the store has in memory and that is written with the records of an inbox.
struct QueuedCommit: Sendable {
    let file: SeenFile
    let keys: DedupeKeys
    let time: StoredTime
    /// The store's counts in memory just after it.
    let counts: SeenCounts
}
#endif
