#if SQLite
import CLibrary
import KiiPushSystem

/// The identities of an open database and its log, which reveal that somebody removed, replaced or emptied one: SQLite
/// would continue with files that nobody can open, and lose committed data with the process.
struct OpenFiles: Sendable {
    private struct Identity: Hashable {
        var device: UInt64 = 0
        var inode: UInt64 = 0
    }

    private let path: String
    private let identities: [Identity?]

    /// Records the current files; both exist, since the database has been written.
    init(_ path: String) {
        self.path = path
        identities = (try? Self.identities(path)) ?? []
    }

    /// Whether the same files still exist, and the database is not empty; makes two system calls.
    ///
    /// - Throws: ``SQLiteError/cannotOpen(path:_:)`` if nobody can tell, as without permission for the directory:
    ///   nothing is lost, and the permission may return.
    func areThere() throws(SQLiteError) -> Bool { try Self.identities(path) == identities }

    private static func identities(_ path: String) throws(SQLiteError) -> [Identity?] {
        [try identity(path, isEmptyFine: false), try identity(path + "-wal", isEmptyFine: true)]
    }

    private static func identity(_ path: String, isEmptyFine: Bool) throws(SQLiteError) -> Identity? {
        var status = stat()
        // The call reads the path and fills in `status`.
        guard unsafe stat(path, &status) == 0 else {
            let number = ErrorNumber.current
            if [ENOENT, ENOTDIR].contains(number.rawValue) { return nil }
            throw .cannotOpen(path: path, number)
        }
        guard isEmptyFine || status.st_size > 0 else { return nil }
        return Identity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    }
}
#endif
