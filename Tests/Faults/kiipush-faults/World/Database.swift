import CSQLite3
import Glibc

/// A look at an agent's database that is not the library's own.
struct Database {
    /// A dead letter: the number of the message whose payload it has, and how many messages it stands for.
    struct Letter: Equatable {
        let number: Int
        let reason: String
        var count = 1
    }

    /// The dead letters; several of one message are an error.
    var letters: [Letter] = []
    /// How many payloads the inbox has.
    var waiting = 0

    /// For how many messages the letters stand beyond those whose payloads they have.
    var folded: Int { letters.reduce(0) { $0 + $1.count - 1 } }

    /// How many of them were quarantined.
    var quarantined: Int { letters.reduce(0) { $1.reason == "quarantined" ? $0 + $1.count - 1 : $0 } }

    /// Reads a copy of the database of a state directory, so that its next process finds it as the last one left it,
    /// and checks all of it.
    ///
    /// - Throws: what is wrong with it.
    static func check(_ state: String, in folder: String) throws -> Database {
        let copy = "\(folder)/copy.db"
        for suffix in ["", "-wal"] {
            let bytes = contents(of: "\(state)/kiipush.db\(suffix)")
            unlink(copy + suffix)
            if !bytes.isEmpty { try write(bytes, to: copy + suffix) }
        }
        unlink(copy + "-shm")
        // Killed before there was anything.
        guard access(copy, F_OK) == 0 else { return Database() }
        return try open(copy) { try read($0, isWhole: true) }
    }

    /// Reads the database while an agent has it.
    static func look(_ state: String) throws -> Database {
        try open("\(state)/kiipush.db") { try read($0, isWhole: false) }
    }

    /// How many payloads the inbox of a state directory has, while an agent has it.
    static func waiting(_ state: String) throws -> Int {
        try open("\(state)/kiipush.db") { try count(of: "inbox", $0) }
    }

    private static func open<Result>(_ path: String, _ body: (OpaquePointer) throws -> Result) throws -> Result {
        var handle: OpaquePointer?
        defer { sqlite3_close(handle) }
        guard sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK, let handle else {
            throw Trouble("\(path) cannot be opened")
        }
        sqlite3_busy_timeout(handle, 2000)
        return try body(handle)
    }

    private static func count(of table: String, _ handle: OpaquePointer) throws -> Int {
        var count = 0
        try rows("SELECT count(*) FROM \(table)", handle) { count = Int(sqlite3_column_int64($0, 0)) }
        return count
    }

    private static func read(_ handle: OpaquePointer, isWhole: Bool) throws -> Database {
        var database = Database()
        if isWhole {
            var answers: [String] = []
            try rows("PRAGMA integrity_check", handle) { answers.append(text($0, 0)) }
            guard answers == ["ok"] else { throw Trouble("the database is damaged: \(answers.prefix(3))") }
            try rows("PRAGMA foreign_key_check", handle) { _ in throw Trouble("a row of the database refers to none") }
        }
        var tables: Set<String> = []
        try rows("SELECT name FROM sqlite_schema", handle) { tables.insert(text($0, 0)) }
        // Killed while the tables were being made, of which this one is the last.
        guard tables.contains("deadLetterKeys") else { return database }
        database.waiting = try count(of: "inbox", handle)
        try rows("SELECT payload, reason, count FROM deadLetters ORDER BY id", handle) { row in
            let count = Int(sqlite3_column_bytes(row, 0))
            let bytes = UnsafeRawBufferPointer(start: sqlite3_column_blob(row, 0), count: count)
            let number =
                NumberedMessage.number(in: bytes, behind: "\"when\":")
                ?? NumberedMessage.value(in: bytes, behind: "\"n\":").map { Int($0) }
            guard let number else { throw Trouble("a dead letter is none of the messages") }
            let messages = Int(sqlite3_column_int64(row, 2))
            database.letters.append(Letter(number: number, reason: text(row, 1), count: messages))
        }
        return database
    }

    private static func rows(_ sql: String, _ handle: OpaquePointer, _ body: (OpaquePointer) throws -> Void) throws {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK, let statement else {
            throw Trouble("\(sql): \(String(cString: sqlite3_errmsg(handle)))")
        }
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: try body(statement)
            case SQLITE_DONE: return
            default: throw Trouble("\(sql): \(String(cString: sqlite3_errmsg(handle)))")
            }
        }
    }

    private static func text(_ row: OpaquePointer, _ column: Int32) -> String {
        sqlite3_column_text(row, column).map { String(cString: $0) } ?? ""
    }
}
