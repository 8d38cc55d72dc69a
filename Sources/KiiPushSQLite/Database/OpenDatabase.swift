#if SQLite
import KiiPushLinux

/// A database file that is open and locked, until it is found damaged.
struct OpenDatabase: ~Copyable {
    var connection: Connection
    let lock: FileLock
    let service: DatabaseService
    let healing: DatabaseHealing?
    var stores: Set<String> = []
    /// What is wrong with the file, once that was found out.
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
        return OpenDatabase(connection, lock, service, healing)
    }

    /// Opens a file that is there, and heals it if it is damaged and there is a healer.
    static func open(
        _ path: String, _ machine: MachineTime, _ lock: FileLock, _ marker: DatabaseMarker?, _ healer: DatabaseHealer?
    ) throws(SQLiteError) -> OpenDatabase {
        if let healing = try healer?.resume(marker) {
            return try open(path, machine, lock, healing: healing, isChecked: false)
        }
        var earlier: DatabaseHealing?
        if case .healed(let healing) = marker, DatabaseHealer.isThere(healing.damagedPath) { earlier = healing }
        do throws(SQLiteError) {
            // Opened now, it would be made anew, and nobody would ever know.
            if DatabaseHealer.isEmptied(path, marker) { throw .emptied(path: path) }
            let database = try open(path, machine, lock, healing: earlier, isChecked: healer != nil)
            // Without room for it an empty file is a new one, as it would be without a marker at all.
            if marker == nil { try? DatabaseMarker.made.write(path) }
            return database
        } catch {
            guard let healer, let cause = DatabaseHealing.Cause(error) else { throw error }
            let healing = try healer.heal(cause)
            return try open(path, machine, lock, healing: healing, isChecked: false)
        }
    }

    mutating func with<Result>(
        _ body: (inout Connection) throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        if let damage { throw damage }
        guard files.areThere else { throw found(.emptied(path: connection.path)) }
        defer { if connection.isDamaged { _ = found(.corrupt(path: connection.path)) } }
        return try body(&connection)
    }

    /// Takes down what is wrong with the file, which is not to be written to any more, not even when it is closed.
    private mutating func found(_ error: SQLiteError) -> SQLiteError {
        damage = error
        connection.keepLog(true)
        return error
    }
}

extension DatabaseHealing.Cause {
    /// What there is to be healed; nil for an error that is no damage.
    fileprivate init?(_ error: SQLiteError) {
        switch error {
        case .corrupt: self = .damaged
        case .emptied: self = .emptied
        default: return nil
        }
    }
}
#endif
