#if SQLite
import Glibc

/// Which files an open database and its log are, so that it is noticed when somebody removes, replaces or empties one:
/// SQLite would go on with files that nobody can open any more, and what it confirms would be gone with the process.
struct OpenFiles: Sendable {
    private struct Identity: Hashable {
        var device: UInt64 = 0
        var inode: UInt64 = 0
    }

    private let path: String
    private let identities: [Identity?]

    /// Takes down which files there are; the database has been written to, so both are.
    init(_ path: String) {
        self.path = path
        identities = Self.identities(path)
    }

    /// Whether the same files lie there still, and the database is not empty; two calls of the system.
    var areThere: Bool { Self.identities(path) == identities }

    private static func identities(_ path: String) -> [Identity?] {
        [identity(path, isEmptyFine: false), identity(path + "-wal", isEmptyFine: true)]
    }

    private static func identity(_ path: String, isEmptyFine: Bool) -> Identity? {
        var status = stat()
        // The call reads the path and fills in `status`.
        guard unsafe stat(path, &status) == 0, isEmptyFine || status.st_size > 0 else { return nil }
        return Identity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    }
}
#endif
