import Glibc

/// Puts a file in the place of another as a whole: a reader sees the old one or the new one, also after the power fails
/// where it is to be durable.
///
/// The new one is first written as `path.tmp`, so only one may do it at a time; what an earlier one that failed left
/// there is removed.
///
/// - Throws: the number of the call that failed; the old file is still there, unless the very last step failed, which
///   brings the directory to the disk.
package func replaceFile(
    _ path: String, with text: String, mode: UInt32 = 0o600, isDurable: Bool = true
) throws(ErrorNumber) {
    // C would take the path to end there, and replace another file.
    guard !path.utf8.contains(0) else { throw ErrorNumber(rawValue: EINVAL) }
    let temporary = "\(path).tmp"
    guard unsafe unlink(temporary) == 0 || errno == ENOENT else { throw .current }
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
    let descriptor = retrying { unsafe open(temporary, flags, 0o600) }
    guard descriptor >= 0 else { throw .current }
    do throws(ErrorNumber) {
        defer { close(descriptor) }
        giveToOwnerOfDirectory(of: path, descriptor)
        // Whatever the process's mask takes from it.
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

/// Brings to the disk which files there are beside a path, after one was made, moved or removed.
///
/// - Throws: the number of the call that failed.
package func syncDirectory(of path: String) throws(ErrorNumber) {
    let directory = retrying { unsafe open(directoryName(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    guard directory >= 0 else { throw .current }
    defer { close(directory) }
    guard retrying({ fsync(directory) }) == 0 else { throw .current }
}

/// Gives a file that was just made to the owner of its directory, where this process may.
///
/// What root writes into a service's directory would be of no use to the service otherwise.
package func giveToOwnerOfDirectory(of path: String, _ descriptor: Int32) {
    var status = stat()
    guard unsafe stat(directoryName(path), &status) == 0, status.st_uid != geteuid() else { return }
    // Only root may; for anybody else the file stays as it is.
    _ = fchown(descriptor, status.st_uid, status.st_gid)
}

/// The directory of a path, without a slash at its end: `.` for a bare name, `/` for what lies in the root.
package func directoryName(_ path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    var end = slash
    while end > path.startIndex, path.utf8[path.utf8.index(before: end)] == UInt8(ascii: "/") {
        end = path.utf8.index(before: end)
    }
    return end == path.startIndex ? "/" : String(path[..<end])
}
