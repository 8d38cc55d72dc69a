#if SQLite
import CLibrary
import KiiPushSystem

/// Checks of a database's path before SQLite opens it.
enum DatabaseFile {
    /// Creates the directory (mode 0700) and the file (0600) if they are missing, refuses a file that others could
    /// have read or changed, and returns the lock, to hold while the database is open.
    static func prepare(_ path: String, directory: String) throws(SQLiteError) -> FileLock {
        do throws(ErrorNumber) { try StateDirectory.make(directory) } catch {
            throw .cannotOpen(path: directory, error)
        }
        try checkDirectory(directory)
        let lock: FileLock
        // A child process of a killed process may still hold the lock, if it was just being started.
        do throws(ErrorNumber) { lock = try FileLock("\(path).lock", limit: .seconds(2)) } catch {
            throw error.rawValue == EWOULDBLOCK ? .inUse(path: path) : .cannotOpen(path: "\(path).lock", error)
        }
        do throws(SQLiteError) { try checkFile(path) } catch {
            lock.unlock()
            throw error
        }
        return lock
    }

    /// Whoever may write to the directory could replace the database.
    private static func checkDirectory(_ path: String) throws(SQLiteError) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw .cannotOpen(path: path, .current) }
        guard [geteuid(), 0].contains(status.st_uid) || geteuid() == 0 else { throw .foreignOwner(path: path) }
        guard status.st_mode & 0o022 == 0 else { throw .openToOthers(path: path, mode: status.st_mode & 0o777) }
    }

    /// The number of pages after which the log is checkpointed.
    static func logPages(beside path: String) -> Int {
        (DiskReserve.freeBytes(path) ?? .max) < 32 << 20 ? 100 : 1000
    }

    // Closed again before SQLite opens the file: closing a descriptor later would release SQLite's own locks.
    private static let flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK

    /// Creates an empty file (mode 0600), unless the path exists.
    static func make(_ path: String) throws(SQLiteError) {
        let made = retrying { unsafe open(path, flags | O_CREAT | O_EXCL, 0o600) }
        guard made >= 0 else {
            if errno == EEXIST { return }
            throw .cannotOpen(path: path, .current)
        }
        giveToOwnerOfDirectory(of: path, made)
        close(made)
    }

    private static func checkFile(_ path: String) throws(SQLiteError) {
        try make(path)
        let descriptor = retrying { unsafe open(path, flags) }
        guard descriptor >= 0 else {
            throw [ELOOP, EISDIR, ENXIO].contains(errno) ? .notAFile(path: path) : .cannotOpen(path: path, .current)
        }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw .cannotOpen(path: path, .current) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile(path: path) }
        guard status.st_uid == geteuid() || geteuid() == 0 else { throw .foreignOwner(path: path) }
        guard status.st_mode & 0o077 == 0 else { throw .openToOthers(path: path, mode: status.st_mode & 0o777) }
    }
}
#endif
