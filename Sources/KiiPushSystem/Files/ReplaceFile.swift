import Glibc

/// Replaces a file as a whole: a reader sees the old or the new one, even after a power failure if it is to be durable.
///
/// It writes the new file as `path.tmp` first, so only one may run at a time; it removes what an earlier failed call
/// left there.
///
/// - Throws: the error of the failed call; the old file still exists, unless the last step, syncing the directory,
///   failed.
package func replaceFile(
    _ path: String, with text: String, mode: UInt32 = 0o600, isDurable: Bool = true
) throws(ErrorNumber) {
    // C would end the path there, and replace another file.
    guard !path.utf8.contains(0) else { throw ErrorNumber(rawValue: EINVAL) }
    let temporary = "\(path).tmp"
    guard unsafe unlink(temporary) == 0 || errno == ENOENT else { throw .current }
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
    let descriptor = retrying { unsafe open(temporary, flags, 0o600) }
    guard descriptor >= 0 else { throw .current }
    do throws(ErrorNumber) {
        defer { close(descriptor) }
        giveToOwnerOfDirectory(of: path, descriptor)
        // The process's mask must not restrict it.
        guard mode == 0o600 || fchmod(descriptor, mode) == 0 else { throw .current }
        try writeAll(text, to: descriptor)
        guard !isDurable || retrying({ fsync(descriptor) }) == 0 else { throw .current }
    } catch {
        unsafe unlink(temporary)
        throw error
    }
    guard unsafe rename(temporary, path) == 0 else {
        let error = ErrorNumber.current
        unsafe unlink(temporary)
        throw error
    }
    if isDurable { try syncDirectory(of: path) }
}

/// Syncs the directory of a path to disk, after a file was created, moved or removed.
///
/// - Throws: the error of the failed call.
package func syncDirectory(of path: String) throws(ErrorNumber) {
    let directory = retrying { unsafe open(directoryName(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    guard directory >= 0 else { throw .current }
    defer { close(directory) }
    guard retrying({ fsync(directory) }) == 0 else { throw .current }
}

/// Gives a new file to the owner of its directory, if this process may.
///
/// Otherwise a service could not use a file that root writes into its directory.
package func giveToOwnerOfDirectory(of path: String, _ descriptor: Int32) {
    var status = stat()
    guard unsafe stat(directoryName(path), &status) == 0, status.st_uid != geteuid() else { return }
    // Only root may; for others the file stays unchanged.
    _ = fchown(descriptor, status.st_uid, status.st_gid)
}

/// The directory of a path, without a trailing slash: `.` for a bare name, `/` for a file in the root.
package func directoryName(_ path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    var end = slash
    while end > path.startIndex, path.utf8[path.utf8.index(before: end)] == UInt8(ascii: "/") {
        end = path.utf8.index(before: end)
    }
    return end == path.startIndex ? "/" : String(path[..<end])
}
