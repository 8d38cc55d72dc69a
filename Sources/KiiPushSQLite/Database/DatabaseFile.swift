#if SQLite
import Glibc
import KiiPushLinux

/// A database's place on disk, looked at before SQLite opens it.
enum DatabaseFile {
    /// Makes the directory (mode 0700) and the file (0600) where they are missing, takes the lock, and refuses what
    /// others could have read or changed.
    ///
    /// - Returns: the lock, to be held for as long as the database is open.
    static func prepare(_ path: String, directory: String) throws(SQLiteError) -> FileLock {
        do throws(ErrorNumber) { try StateDirectory.make(directory) } catch {
            throw .cannotOpen(path: directory, error)
        }
        try checkDirectory(directory)
        let lock: FileLock
        // Of a process that was killed a program may have the lock still, one that was just being started.
        do throws(ErrorNumber) { lock = try FileLock("\(path).lock", limit: .seconds(2)) } catch {
            throw error.rawValue == EWOULDBLOCK ? .inUse(path: path) : .cannotOpen(path: "\(path).lock", error)
        }
        do throws(SQLiteError) { try checkFile(path) } catch {
            lock.unlock()
            throw error
        }
        return lock
    }

    /// Who may write to the directory could put another file in the database's place.
    private static func checkDirectory(_ path: String) throws(SQLiteError) {
        var status = stat()
        // The call reads the path and fills in `status`.
        guard unsafe stat(path, &status) == 0 else { throw .cannotOpen(path: path, .current) }
        guard [geteuid(), 0].contains(status.st_uid) || geteuid() == 0 else { throw .foreignOwner(path: path) }
        guard status.st_mode & 0o022 == 0 else { throw .openToOthers(path: path, mode: status.st_mode & 0o777) }
    }

    /// After how many pages the log is taken into the database.
    static func logPages(beside path: String) -> Int { hasLittleRoom(beside: path) ? 100 : 1000 }

    /// Whether less than 32 MB are free on the disk of a file; false where the system does not say.
    private static func hasLittleRoom(beside path: String) -> Bool {
        var system = statvfs()
        // The call reads the path and fills in `system`.
        guard unsafe statvfs(path, &system) == 0 else { return false }
        return UInt64(system.f_bavail) < (32 << 20) / UInt64(max(system.f_frsize, 1))
    }

    // Closed again before SQLite opens the file: a descriptor closed later would end SQLite's own locks.
    private static let flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK

    /// Makes an empty file (mode 0600), unless there is something.
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
        // The call fills in `status`.
        guard unsafe fstat(descriptor, &status) == 0 else { throw .cannotOpen(path: path, .current) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile(path: path) }
        guard status.st_uid == geteuid() || geteuid() == 0 else { throw .foreignOwner(path: path) }
        guard status.st_mode & 0o077 == 0 else { throw .openToOthers(path: path, mode: status.st_mode & 0o777) }
    }
}
#endif
