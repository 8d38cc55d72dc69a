#if SQLite
import CSQLite
import CLibrary
import KiiPush
import KiiPushSystem

/// The readable contents of a damaged database, copied row by row into a new one.
///
/// Each table is read from the front up to the first error, and then from the end up to the first error. Rows that the
/// new database refuses are skipped. Nothing is written to the damaged file or its log.
struct Salvage {
    private(set) var inbox = DatabaseHealing.Saved()
    private(set) var deadLetters = DatabaseHealing.Saved()
    private(set) var seen = DatabaseHealing.Saved()
    /// The last number that the inbox has assigned.
    private(set) var lastPayload: Int64 = 0

    /// How many rows of a table are read, from either end: a damaged file may contain cycles.
    private static let mostRows = 1_000_000

    /// Copies the readable contents; all of them, or nothing, are on disk when it returns.
    ///
    /// - Throws: why the new database cannot be written.
    init(of damaged: String, into new: inout Connection) throws(SQLiteError) {
        try Self.giveRoomForLog(damaged)
        // A file that cannot even be opened has no readable contents.
        guard var old = try? Connection(path: damaged) else { return }
        // The last setting allows reading a file that is shorter than its header says.
        try? old.script(
            """
            PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA query_only = ON;
            PRAGMA writable_schema = ON
            """)
        self = try new.transaction { new throws(SQLiteError) in
            var salvage = Salvage()
            try salvage.copy(from: &old, into: &new)
            salvage.lastPayload = try new.lastNumber(of: "inbox")
            return salvage
        }
    }

    private init() {}

    private mutating func copy(from old: inout Connection, into new: inout Connection) throws(SQLiteError) {
        let secret = try Self.copy("service", by: "id", from: &old, into: &new)
        let boots = try Self.copy("boots", by: "number", from: &old, into: &new)
        func copy(_ table: String, by key: String) throws(SQLiteError) -> DatabaseHealing.Saved {
            try Self.copy(table, by: key, from: &old, into: &new, knowsBoots: boots.isWhole)
        }
        inbox = try copy("inbox", by: "id")
        _ = try copy("inboxProgress", by: "payload")
        _ = try copy("inboxHandled", by: "payload, position")
        _ = try copy("answers", by: "payload")
        deadLetters = try copy("deadLetters", by: "id")
        _ = try copy("deadLetterRoutes", by: "letter, position")
        // These are digests, which are useless without the secret.
        if secret.rows == 1 {
            _ = try copy("deadLetterKeys", by: "letter, position")
            seen = try copy("seen", by: "strength, number")
        }
        try Self.copyLastNumbers(from: &old, into: &new)
    }

    // MARK: A table

    private static func copy(
        _ table: String, by key: String, from old: inout Connection, into new: inout Connection,
        knowsBoots: Bool = true
    ) throws(SQLiteError) -> DatabaseHealing.Saved {
        // A table of an older release has fewer columns; the missing ones have a default.
        let there = (try? columns(of: table, in: &old)) ?? []
        let columns = try columns(of: table, in: &new).filter(there.contains)
        guard !columns.isEmpty else { return DatabaseHealing.Saved() }
        let list = columns.joined(separator: ", ")
        let insert = "INSERT INTO \(table) (\(list)) VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")))"
        var (saved, isWhole) = (0, true)
        for direction in ["", " DESC"] {
            var (looked, failure) = (0, SQLiteError?.none)
            let order = key.split(separator: ",").map { "\($0)\(direction)" }.joined(separator: ",")
            do throws(SQLiteError) {
                try old.rows("SELECT \(list) FROM \(table) ORDER BY \(order)") { row in
                    looked += 1
                    let values = columns.indices.map { row.value(Int32($0)) }
                    do throws(SQLiteError) {
                        let isTaken = try new.take(values, columns, insert, knowsBoots: knowsBoots)
                        if isTaken { saved += 1 } else { isWhole = false }
                    } catch { failure = error }
                    return failure == nil && looked < mostRows
                }
                if looked == mostRows { isWhole = false }
            } catch { isWhole = false }
            if let failure { throw failure }
            if isWhole { break }
        }
        return DatabaseHealing.Saved(rows: saved, isWhole: isWhole)
    }

    private static func columns(of table: String, in connection: inout Connection) throws(SQLiteError) -> [String] {
        var names: [String] = []
        try connection.each("PRAGMA table_info(\(table))") { row in names.append(row.text(1) ?? "") }
        return names
    }

    /// Makes sure that assigned numbers are not assigned again.
    private static func copyLastNumbers(from old: inout Connection, into new: inout Connection) throws(SQLiteError) {
        for table in ["inbox", "deadLetters"] {
            let last = (try? old.lastNumber(of: table)) ?? 0
            guard try last > new.lastNumber(of: table), last < SQLValue.mostNumber else { continue }
            try new.run("DELETE FROM sqlite_sequence WHERE name = ?", .text(table))
            try new.run("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", .text(table), .integer(last))
        }
    }

    /// Makes SQLite read the log of a database that has become empty: it removes the log of one without a page.
    private static func giveRoomForLog(_ damaged: String) throws(SQLiteError) {
        let database = FileStamp(damaged)
        guard database.error == nil, database.size <= 1, FileStamp("\(damaged)-wal").size > 0 else { return }
        guard unsafe truncate(damaged, 4096) == 0 else { throw .cannotOpen(path: damaged, .current) }
    }
}

extension SQLValue {
    /// No service can have assigned a higher number.
    fileprivate static let mostNumber: Int64 = .max / 4

    fileprivate var isOurNumber: Bool {
        if case .integer(let number) = self { number > 0 && number < Self.mostNumber } else { false }
    }
}

extension Connection {
    /// Copies a row; false if it violates a constraint of its table.
    fileprivate mutating func take(
        _ values: [SQLValue], _ columns: [String], _ insert: String, knowsBoots: Bool
    ) throws(SQLiteError) -> Bool {
        var values = values
        // All that is remembered of messages needs the secret in that row; a count begins anew.
        if let opened = columns.firstIndex(of: "opened"), !values[opened].isOurNumber { values[opened] = .integer(1) }
        for (value, column) in zip(values, columns) {
            let isNumber = ["id", "number", "payload"].contains(column)
            if isNumber, case .integer = value, !value.isOurNumber { return false }
            // A dead letter with an unknown reason would make listing all of them fail.
            if column == "reason", case .text(let text) = value, DeadLetter.Reason(stored: text) == nil {
                return false
            }
            guard !knowsBoots, ["boot", "firstBoot"].contains(column), case .integer = value else { continue }
            // For a boot that is lost, only the order of its messages is known.
            try each("INSERT INTO boots VALUES (?1, 'lost ' || ?1) ON CONFLICT DO NOTHING", [value]) { _ in }
        }
        do throws(SQLiteError) {
            try each(insert, values) { _ in }
            return true
        } catch {
            guard case .refused(_, let code) = error, code & 0xFF == SQLITE_CONSTRAINT else { throw error }
            return false
        }
    }
}
#endif
