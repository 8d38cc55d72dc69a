#if SQLite
import CSQLite
import CLibrary
import KiiPushSystem

/// One open database file: prepares statements, binds values, and converts result codes to errors.
///
/// All calls of SQLite are here. One thread at a time uses it: the database keeps it behind its lock.
@safe
// SQLite lets any thread use a handle, one at a time: this cannot be copied, and every use of the handle mutates.
struct Connection: ~Copyable, @unchecked Sendable {
    // Valid from `init` to `deinit`, and never passed out.
    private let handle: OpaquePointer
    let path: String
    /// The statements that ran twice, by text; their number is bounded by the number of texts in this module.
    private var statements = unsafe [String: OpaquePointer]()
    /// The texts that ran: most of those of an opening run once, and a kept statement has some 4 KB.
    private var texts: Set<String> = []
    /// Whether SQLite has found the file damaged.
    private(set) var isDamaged = false
    /// Whether commits wait for the disk; a file is opened with `synchronous=FULL`.
    private var isSynced = true

    init(path: String) throws(SQLiteError) {
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        // The path is a C string during the call.
        let code = unsafe sqlite3_open_v2(path, &opened, flags, nil)
        guard let handle = unsafe opened else { throw .cannotOpen(path: path, ErrorNumber(rawValue: ENOMEM)) }
        guard code == SQLITE_OK else {
            let error = unsafe SQLiteError(code, handle, path)
            // A failed open also returns a handle, which must be closed.
            unsafe sqlite3_close_v2(handle)
            throw error
        }
        unsafe self.handle = handle
        self.path = path
        unsafe sqlite3_busy_timeout(handle, 1000)
        keepLog(true)
    }

    /// Sets whether closing keeps the write-ahead log unchanged, as it does at first: a file that may be damaged must
    /// not be written.
    func keepLog(_ isKept: Bool) { unsafe _ = csqlite_keep_log(handle, isKept ? 1 : 0) }

    deinit {
        // SQLite closes a file only when its statements are finalized; nobody else has them.
        unsafe statements.values.forEach { unsafe _ = sqlite3_finalize($0) }
        unsafe sqlite3_close(handle)
    }

    /// Frees the pages of the file that are in memory.
    func releasePages() { unsafe _ = sqlite3_db_release_memory(handle) }

    // MARK: Statements

    /// Runs a statement without rows, or whose rows do not matter.
    mutating func run(_ sql: String, _ values: SQLValue...) throws(SQLiteError) {
        try each(sql, values) { _ in }
    }

    /// The number in the first column of the first row; nil without a row.
    mutating func number(_ sql: String, _ values: SQLValue...) throws(SQLiteError) -> Int64? {
        var found: Int64?
        try each(sql, values) { row in found = found ?? row.integer(0) }
        return found
    }

    /// The text in the first column of the first row; nil without a row.
    mutating func text(_ sql: String, _ values: SQLValue...) throws(SQLiteError) -> String? {
        var found: String?
        try each(sql, values) { row in found = found ?? row.text(0) }
        return found
    }

    /// Runs a statement and passes each row to `read`.
    mutating func each(_ sql: String, _ values: [SQLValue] = [], _ read: (borrowing SQLRow) -> Void) throws(SQLiteError)
    {
        try rows(sql, values) { row in
            read(row)
            return true
        }
    }

    /// Runs a statement and passes each row to `read`, until `read` wants no more.
    mutating func rows(
        _ sql: String, _ values: [SQLValue] = [], _ read: (borrowing SQLRow) -> Bool
    ) throws(SQLiteError) {
        let (statement, isKept) = unsafe try prepared(sql)
        // The statement's values and locks are released before its next use, also after an error, which was reported.
        defer {
            if isKept {
                unsafe sqlite3_reset(statement)
                unsafe sqlite3_clear_bindings(statement)
            } else {
                unsafe sqlite3_finalize(statement)
            }
        }
        for (index, value) in values.enumerated() {
            try check(unsafe value.bind(to: statement, Int32(index + 1)))
        }
        // SQLite sets the number only for some failures; for others it would be a stale one.
        errno = 0
        while true {
            switch unsafe sqlite3_step(statement) {
            case SQLITE_ROW: if !read(unsafe SQLRow(statement: statement)) { return }
            case SQLITE_DONE: return
            case let code: throw failure(code)
            }
        }
    }

    /// Runs several statements without values, such as a schema.
    mutating func script(_ sql: String) throws(SQLiteError) {
        // The text is a C string during the call; no callback, no message.
        try check(unsafe sqlite3_exec(handle, sql, nil, nil, nil))
    }

    private mutating func prepared(_ sql: String) throws(SQLiteError) -> (OpaquePointer, isKept: Bool) {
        if let statement = unsafe statements[sql] { return unsafe (statement, true) }
        var made: OpaquePointer?
        // SQLite keeps a copy of the text.
        try check(unsafe sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &made, nil))
        guard let statement = unsafe made else { throw .refused(path: path, code: SQLITE_MISUSE) }
        let isKept = !texts.insert(sql).inserted
        if isKept { unsafe statements[sql] = statement }
        return unsafe (statement, isKept)
    }

    private mutating func check(_ code: Int32) throws(SQLiteError) {
        guard code == SQLITE_OK else { throw failure(code) }
    }

    /// The error for a result code of the last call.
    private mutating func failure(_ code: Int32) -> SQLiteError {
        let error = unsafe SQLiteError(code, handle, path)
        if case .corrupt = error { isDamaged = true }
        return error
    }

    var lastRow: Int64 {
        mutating get { unsafe sqlite3_last_insert_rowid(handle) }
    }

    // MARK: Transactions

    /// Runs `body` in a transaction, which survives a loss of power when this returns if it is synced.
    ///
    /// If not, it survives the process's end, and a loss of power only when a later transaction does. If the disk is
    /// full, `body` runs once more when the write-ahead log, which may have used up the last room, is truncated.
    ///
    /// - Throws: the error of `body` or of the transaction; nothing has changed then.
    mutating func transaction<Result>(
        isSynced: Bool = true, _ body: (inout Connection) throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        do throws(SQLiteError) { return try transact(isSynced, body) } catch {
            guard case .full = error else { throw error }
            try? run("PRAGMA wal_checkpoint(TRUNCATE)")
            return try transact(isSynced, body)
        }
    }

    private mutating func transact<Result>(
        _ isSynced: Bool, _ body: (inout Connection) throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        // A transaction whose rollback failed must not include the next one.
        if isInTransaction { try run("ROLLBACK") }
        try sync(isSynced)
        // For statements without a transaction. If it fails, the next transaction does it, or is not begun.
        defer { try? sync(true) }
        try run("BEGIN IMMEDIATE")
        do {
            let result = try body(&self)
            try run("COMMIT")
            return result
        } catch {
            // After some errors, such as a full disk, SQLite has already rolled back.
            if isInTransaction { try? run("ROLLBACK") }
            throw error
        }
    }

    private mutating func sync(_ isSynced: Bool) throws(SQLiteError) {
        guard isSynced != self.isSynced else { return }
        // Not prepared once for all: SQLite obeys it while it prepares it.
        try script("PRAGMA synchronous = \(isSynced ? "FULL" : "NORMAL")")
        self.isSynced = isSynced
    }

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
            // SQLite copies the bytes before the call returns; an empty text may have no address, which would mean
            // NULL.
            guard !text.isEmpty else { return unsafe csqlite_bind_text(statement, index, "", 0) }
            return text.withUTF8 { bytes in
                unsafe bytes.withMemoryRebound(to: CChar.self) { bytes in
                    unsafe csqlite_bind_text(statement, index, bytes.baseAddress, Int32(bytes.count))
                }
            }
        case .blob(let bytes):
            // As above; bytes without an address would mean NULL, not an empty blob.
            guard !bytes.isEmpty else { return unsafe sqlite3_bind_zeroblob(statement, index, 0) }
            return unsafe bytes.withUnsafeBytes { bytes in
                unsafe csqlite_bind_blob(statement, index, bytes.baseAddress, Int32(bytes.count))
            }
        }
    }
}

/// The current row of a statement; valid only during the call that passes it.
@safe
struct SQLRow: ~Copyable {
    fileprivate let statement: OpaquePointer

    func integer(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(statement, column) }

    func isNull(_ column: Int32) -> Bool { unsafe sqlite3_column_type(statement, column) == SQLITE_NULL }

    func integerOrNull(_ column: Int32) -> Int64? { isNull(column) ? nil : integer(column) }

    /// The time in this column and the two behind it.
    func time(_ column: Int32) -> StoredTime {
        StoredTime(boot: integer(column), monotonic: integer(column + 1), wall: integer(column + 2))
    }

    /// The stored value; a fraction, which none of our tables has, counts as null.
    func value(_ column: Int32) -> SQLValue {
        switch unsafe sqlite3_column_type(statement, column) {
        case SQLITE_INTEGER: .integer(integer(column))
        case SQLITE_TEXT: .text(text(column))
        case SQLITE_BLOB: .blob(blob(column))
        default: .null
        }
    }

    func text(_ column: Int32) -> String? {
        // SQLite owns the text until the next step, and it is copied before.
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
