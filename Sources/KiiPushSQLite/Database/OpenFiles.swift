#if SQLite
import CLibrary
import KiiPushSystem

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
