import CLibrary

/// A lock between programs until ``unlock()`` or the process's end, on a file that is never removed: two programs could
/// lock a removed one at once.
package struct FileLock: Sendable {
    private let descriptor: Int32

    /// Takes the lock, within a time limit, and creates its file if missing, with mode 0600.
    ///
    /// - Throws: `EWOULDBLOCK` if another program had it all the time; otherwise why there is no such file.
    package init(_ path: String, limit: Duration) throws(ErrorNumber) {
        var descriptor = try Self.taken(path, limit: limit)
        // The previous holder may have removed the directory: then other programs see another file.
        while !Self.isSameFile(descriptor, path) {
            close(descriptor)
            descriptor = try Self.taken(path, limit: limit)
        }
        self.descriptor = descriptor
    }

    private static func taken(_ path: String, limit: Duration) throws(ErrorNumber) -> Int32 {
        let descriptor = try opened(path)
        do throws(ErrorNumber) { try lock(descriptor, limit: limit) } catch {
            close(descriptor)
            throw error
        }
        return descriptor
    }

    private static func isSameFile(_ descriptor: Int32, _ path: String) -> Bool {
        var (open, named) = (stat(), stat())
        guard unsafe fstat(descriptor, &open) == 0, unsafe lstat(path, &named) == 0 else { return false }
        return open.st_dev == named.st_dev && open.st_ino == named.st_ino
    }

    /// Locks an open file or directory; closing it ends the lock.
    package static func lock(_ descriptor: Int32, limit: Duration) throws(ErrorNumber) {
        let deadline = ContinuousClock.now + limit
        // A blocking lock has no time limit, so it is tried repeatedly; an editing program has it only briefly.
        while retrying({ flock(descriptor, LOCK_EX | LOCK_NB) }) != 0 {
            let error = ErrorNumber.current
            guard error.rawValue == EWOULDBLOCK, ContinuousClock.now < deadline else { throw error }
            _ = poll(nil, 0, 5)
        }
    }

    private static func opened(_ path: String) throws(ErrorNumber) -> Int32 {
        do throws(ErrorNumber) {
            let made = try openFile(path, O_RDWR | O_NOFOLLOW | O_CREAT | O_EXCL)
            giveToOwnerOfDirectory(of: path, made)
            return made
        } catch {
            guard error.rawValue == EEXIST else { throw error }
            return try openFile(path, O_RDWR | O_NOFOLLOW)
        }
    }

    package func unlock() {
        // A program that another thread is just starting briefly has a copy of the descriptor, and closing only this
        // one would not end the lock.
        _ = flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}
