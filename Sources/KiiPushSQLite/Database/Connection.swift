#if SQLite
import CSQLite
import Glibc
import KiiPushLinux

/// One open database file: prepares each statement once, binds values, and makes errors of result codes.
///
/// All calls into SQLite are here, and with them all unsafe code of that kind. It is used by one thread at a time: the
/// database keeps it behind its lock.
@safe
// SQLite lets any thread use a handle, if one at a time does: nobody can copy this, and what uses the handle mutates.
struct Connection: ~Copyable, @unchecked Sendable {
    // Valid from `init` to `deinit`, and never handed out.
    private let handle: OpaquePointer
    let path: String
    /// The statements by their text; their number is bounded by the texts that this module has.
    private var statements = unsafe [String: OpaquePointer]()
    /// Whether SQLite has found the file damaged.
    private(set) var isDamaged = false

    /// Opens a file that is there.
    init(path: String) throws(SQLiteError) {
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        // The path is a C string for as long as the call lasts.
        let code = unsafe sqlite3_open_v2(path, &opened, flags, nil)
        guard let handle = unsafe opened else { throw .cannotOpen(path: path, ErrorNumber(rawValue: ENOMEM)) }
        guard code == SQLITE_OK else {
            let error = unsafe SQLiteError(code, handle, path)
            // Also a database that was not opened has a handle, to be closed.
            unsafe sqlite3_close_v2(handle)
            throw error
        }
        unsafe self.handle = handle
        self.path = path
        unsafe sqlite3_busy_timeout(handle, 1000)
        keepLog(true)
    }

    /// Sets whether the file's log stays as it is when the file is closed, as it does at first: what may be damaged is
    /// not to be written to.
    func keepLog(_ isKept: Bool) { unsafe _ = csqlite_keep_log(handle, isKept ? 1 : 0) }

    deinit {
        // SQLite closes a file only when its statements are gone; nobody else has them.
        unsafe statements.values.forEach { unsafe _ = sqlite3_finalize($0) }
        unsafe sqlite3_close(handle)
    }

    // MARK: Statements

    /// Runs a statement that gives no rows, or whose rows do not matter.
    mutating func run(_ sql: String, _ values: SQLValue...) throws(SQLiteError) {
        try each(sql, values) { _ in }
    }

    /// The first column of the first row, a number; nil when there is no row.
    mutating func number(_ sql: String, _ values: SQLValue...) throws(SQLiteError) -> Int64? {
        var found: Int64?
        try each(sql, values) { row in found = found ?? row.integer(0) }
        return found
    }

    /// The first column of the first row, a text; nil when there is no row.
    mutating func text(_ sql: String, _ values: SQLValue...) throws(SQLiteError) -> String? {
        var found: String?
        try each(sql, values) { row in found = found ?? row.text(0) }
        return found
    }

    /// Runs a statement and shows each row that it gives.
    mutating func each(_ sql: String, _ values: [SQLValue] = [], _ read: (borrowing SQLRow) -> Void) throws(SQLiteError)
    {
        try rows(sql, values) { row in
            read(row)
            return true
        }
    }

    /// Runs a statement and shows each row that it gives, until one is the last that `read` wants.
    mutating func rows(
        _ sql: String, _ values: [SQLValue] = [], _ read: (borrowing SQLRow) -> Bool
    ) throws(SQLiteError) {
        let statement = unsafe try prepared(sql)
        // What a statement has bound and locked goes before it is used again, also after an error; the error was told.
        defer {
            unsafe sqlite3_reset(statement)
            unsafe sqlite3_clear_bindings(statement)
        }
        for (index, value) in values.enumerated() {
            try check(unsafe value.bind(to: statement, Int32(index + 1)))
        }
        // SQLite keeps the number only of some failures; of others it is the last that was set.
        errno = 0
        while true {
            switch unsafe sqlite3_step(statement) {
            case SQLITE_ROW: if !read(unsafe SQLRow(statement: statement)) { return }
            case SQLITE_DONE: return
            case let code: throw failure(code)
            }
        }
    }

    /// Runs several statements that have no values, as of a schema.
    mutating func script(_ sql: String) throws(SQLiteError) {
        // The text is a C string for as long as the call lasts; no callback, no message.
        try check(unsafe sqlite3_exec(handle, sql, nil, nil, nil))
    }

    private mutating func prepared(_ sql: String) throws(SQLiteError) -> OpaquePointer {
        if let statement = unsafe statements[sql] { return unsafe statement }
        var made: OpaquePointer?
        // SQLite keeps a copy of the text.
        try check(unsafe sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &made, nil))
        guard let statement = unsafe made else { throw .refused(path: path, code: SQLITE_MISUSE) }
        unsafe statements[sql] = statement
        return unsafe statement
    }

    private mutating func check(_ code: Int32) throws(SQLiteError) {
        guard code == SQLITE_OK else { throw failure(code) }
    }

    /// What a result code of the last call means.
    private mutating func failure(_ code: Int32) -> SQLiteError {
        let error = unsafe SQLiteError(code, handle, path)
        if case .corrupt = error { isDamaged = true }
        return error
    }

    /// The number of the row that was inserted last.
    var lastRow: Int64 {
        mutating get { unsafe sqlite3_last_insert_rowid(handle) }
    }

    // MARK: Transactions

    /// Does all that `body` does, or nothing of it.
    ///
    /// - Throws: what `body` threw, or why the transaction did not end well; nothing has changed then.
    mutating func transaction<Result>(
        _ body: (inout Connection) throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        // One that could not even be rolled back must not swallow the next.
        if isInTransaction { try run("ROLLBACK") }
        try run("BEGIN IMMEDIATE")
        do {
            let result = try body(&self)
            try run("COMMIT")
            return result
        } catch {
            // After some errors, a full disk among them, SQLite has rolled back by itself.
            if isInTransaction { try? run("ROLLBACK") }
            if case .full = error { giveBackLog() }
            throw error
        }
    }

    /// Gives the disk back what the log took, so that there may be room for the next transaction.
    ///
    /// Otherwise the log keeps its size, also when all of it lies in the database. Where that has no room to grow,
    /// nothing changes.
    private mutating func giveBackLog() { try? run("PRAGMA wal_checkpoint(TRUNCATE)") }

    private var isInTransaction: Bool {
        mutating get { unsafe sqlite3_get_autocommit(handle) == 0 }
    }
}

/// A value of a statement or a row.
enum SQLValue {
    case null
    case integer(Int64)
    case text(String)
    case blob([UInt8])

    static func integer(_ number: Int64?) -> SQLValue { number.map { .integer($0) } ?? .null }
    static func text(_ text: String?) -> SQLValue { text.map { .text($0) } ?? .null }

    fileprivate func bind(to statement: OpaquePointer, _ index: Int32) -> Int32 {
        switch self {
        case .null: return unsafe sqlite3_bind_null(statement, index)
        case .integer(let number): return unsafe sqlite3_bind_int64(statement, index, number)
        case .text(var text):
            // SQLite copies the bytes before the call returns; no bytes may have no address, which would be NULL.
            guard !text.isEmpty else { return unsafe csqlite_bind_text(statement, index, "", 0) }
            return text.withUTF8 { bytes in
                unsafe bytes.withMemoryRebound(to: CChar.self) { bytes in
                    unsafe csqlite_bind_text(statement, index, bytes.baseAddress, Int32(bytes.count))
                }
            }
        case .blob(let bytes):
            // As above; and bytes without an address would be NULL, not an empty blob.
            guard !bytes.isEmpty else { return unsafe sqlite3_bind_zeroblob(statement, index, 0) }
            return unsafe bytes.withUnsafeBytes { bytes in
                unsafe csqlite_bind_blob(statement, index, bytes.baseAddress, Int32(bytes.count))
            }
        }
    }
}

/// The row at which a statement stands; only for as long as it is shown.
@safe
struct SQLRow: ~Copyable {
    fileprivate let statement: OpaquePointer

    func integer(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(statement, column) }

    func isNull(_ column: Int32) -> Bool { unsafe sqlite3_column_type(statement, column) == SQLITE_NULL }

    func integerOrNull(_ column: Int32) -> Int64? { isNull(column) ? nil : integer(column) }

    /// The value as it is stored; a fraction, which no table of ours has, counts as none.
    func value(_ column: Int32) -> SQLValue {
        switch unsafe sqlite3_column_type(statement, column) {
        case SQLITE_INTEGER: .integer(integer(column))
        case SQLITE_TEXT: .text(text(column))
        case SQLITE_BLOB: .blob(blob(column))
        default: .null
        }
    }

    func text(_ column: Int32) -> String? {
        // The text is SQLite's until the next step, and is copied before.
        guard let bytes = unsafe sqlite3_column_text(statement, column) else { return nil }
        let count = unsafe Int(sqlite3_column_bytes(statement, column))
        return unsafe String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    func blob(_ column: Int32) -> [UInt8] {
        // As for a text; an empty blob has no address.
        guard let bytes = unsafe sqlite3_column_blob(statement, column) else { return [] }
        let count = unsafe Int(sqlite3_column_bytes(statement, column))
        return unsafe Array(UnsafeRawBufferPointer(start: bytes, count: count))
    }
}

extension SQLiteError {
    /// What a result code means.
    fileprivate init(_ code: Int32, _ handle: OpaquePointer, _ path: String) {
        let last = errno
        let kept = unsafe sqlite3_system_errno(handle)
        let number = ErrorNumber(rawValue: kept == 0 ? last : kept)
        switch code & 0xFF {
        case SQLITE_FULL: self = .full(path: path)
        case SQLITE_IOERR where [ENOSPC, EDQUOT, EFBIG].contains(number.rawValue): self = .full(path: path)
        case SQLITE_IOERR: self = .inputOutput(path: path, number, code: code)
        case SQLITE_CORRUPT, SQLITE_NOTADB: self = .corrupt(path: path)
        case SQLITE_BUSY, SQLITE_LOCKED: self = .busy(path: path)
        case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_READONLY, SQLITE_AUTH: self = .cannotOpen(path: path, number)
        default: self = .refused(path: path, code: code)
        }
    }
}
#endif
