#if SQLite
import CLibrary
import KiiPushSystem

/// A database file that is open and locked, until it is found damaged.
struct OpenDatabase: ~Copyable {
    var connection: Connection
    let lock: FileLock
    let service: DatabaseService
    let healing: DatabaseHealing?
    var stores: Set<String> = []
    /// The damage, once it was found.
    private(set) var damage: SQLiteError?
    private let files: OpenFiles

    private init(
        _ connection: consuming Connection, _ lock: FileLock, _ service: DatabaseService, _ healing: DatabaseHealing?
    ) {
        self.connection = connection
        self.lock = lock
        self.service = service
        self.healing = healing
        files = OpenFiles(self.connection.path)
    }

    private static func open(
        _ path: String, _ machine: MachineTime, _ lock: FileLock, healing: DatabaseHealing?, isChecked: Bool
    ) throws(SQLiteError) -> OpenDatabase {
        var connection = try Connection(path: path)
        let service = try connection.open(path, machine)
        if isChecked { try connection.checkNumbers() }
        var healing = healing
        if let last = healing?.lastPayload, try connection.lastNumber(of: "inbox") == last { healing?.isNew = true }
        return OpenDatabase(connection, lock, service, healing)
    }

    /// Opens an existing file, and heals it if it is damaged and there is a healer.
    static func open(
        _ path: String, _ machine: MachineTime, _ lock: FileLock, _ marker: DatabaseMarker?, _ healer: DatabaseHealer?
    ) throws(SQLiteError) -> OpenDatabase {
        if let healing = try healer?.resume(marker) {
            return try open(path, machine, lock, healing: healing, isChecked: false)
        }
        var earlier: DatabaseHealing?
        if case .healed(let healing) = marker, DatabaseHealer.isThere(healing.damagedPath) { earlier = healing }
        do throws(SQLiteError) {
            // Opening it now would create a new one, and hide the loss.
            if DatabaseHealer.isEmptied(path, marker) { throw .emptied(path: path) }
            let database = try open(path, machine, lock, healing: earlier, isChecked: healer != nil)
            // If the marker cannot be written, an empty file later counts as new.
            if marker == nil { try? DatabaseMarker.made.write(path) }
            return database
        } catch {
            let cause: DatabaseHealing.Cause? =
                switch error {
                case .corrupt: .damaged
                case .emptied: .emptied
                default: nil
                }
            guard let healer, let cause else { throw error }
            let healing = try healer.heal(cause)
            return try open(path, machine, lock, healing: healing, isChecked: false)
        }
    }

    mutating func with<Result>(
        _ body: (inout Connection) throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        if let damage { throw damage }
        guard try files.areThere() else { throw found(.emptied(path: connection.path)) }
        defer { if connection.isDamaged { _ = found(.corrupt(path: connection.path)) } }
        return try body(&connection)
    }

    /// Records the damage of the file, which is not written any more, not even at closing.
    private mutating func found(_ error: SQLiteError) -> SQLiteError {
        damage = error
        connection.keepLog(true)
        return error
    }
}

/// An open database and its log, which reveal that somebody removed, replaced or emptied one: SQLite would continue
/// with files that nobody can open, and lose committed data with the process.
struct OpenFiles: Sendable {
    private let path: String
    private let database: FileStamp
    private let log: FileStamp

    /// Records the current files; both exist, since the database has been written.
    init(_ path: String) {
        self.path = path
        (database, log) = (FileStamp(path), FileStamp(path + "-wal"))
    }

    /// Whether the same files still exist, and the database is not empty; makes two system calls.
    ///
    /// - Throws: ``SQLiteError/cannotOpen(path:_:)`` if nobody can tell, as without permission for the directory:
    ///   nothing is lost, and the permission may return.
    func areThere() throws(SQLiteError) -> Bool {
        let now = FileStamp(path)
        let areSame = try isSame(now, database, path)
        return try isSame(FileStamp(path + "-wal"), log, path + "-wal") && areSame && now.size > 0
    }

    private func isSame(_ now: FileStamp, _ then: FileStamp, _ path: String) throws(SQLiteError) -> Bool {
        if let error = now.error, ![ENOENT, ENOTDIR].contains(error.rawValue) {
            throw .cannotOpen(path: path, error)
        }
        return now.isSameFile(as: then)
    }
}
#endif
