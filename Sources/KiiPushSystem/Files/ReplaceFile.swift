import CLibrary

/// Replaces a file as a whole: a reader sees the old or the new one, even after a power failure if it is to be
/// durable.
///
/// It writes the new file as `path.tmp` first, so only one may run at a time. A symbolic link stays, and the file that
/// it names is replaced; a link of another user than this one and root is an error (`ELOOP`). Whatever else has the
/// path, such as a device, a pipe or an open descriptor in `/dev/fd`, stays too, and the text is written into it; a
/// pipe that nobody reads is an error, unless it `waits`.
///
/// - Throws: why; the old file still exists, unless only syncing the directory failed.
package func replaceFile(
    _ path: String, with text: String, mode: UInt32 = 0o600, isDurable: Bool = true, waits: Bool = false
) throws(ErrorNumber) {
    guard let path = try fileToReplace(path) else { return try writeInto(path, text, waits: waits) }
    let temporary = "\(path).tmp"
    guard isRegularOrMissing(temporary) else { throw ErrorNumber(rawValue: EEXIST) }
    guard unsafe unlink(temporary) == 0 || errno == ENOENT else { throw .current }
    let descriptor = try openFile(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
    do throws(ErrorNumber) {
        defer { close(descriptor) }
        giveToOwnerOfDirectory(of: path, descriptor)
        // The process's mask must not restrict it.
        guard mode == 0o600 || fchmod(descriptor, mode) == 0 else { throw .current }
        try writeAll(text, to: descriptor)
        guard !isDurable || retrying({ fsync(descriptor) }) == 0 else { throw .current }
        try renameFile(temporary, to: path)
    } catch {
        unsafe unlink(temporary)
        throw error
    }
    if isDurable { try syncDirectory(of: path) }
}

/// Whether a path names a regular file that does not begin with this text, or cannot be read.
///
/// Replacing it would destroy something else, unlike an empty file, a part of the text, or zeros. Where this user
/// cannot look, it can replace nothing either.
package func isForeignFile(_ path: String, _ start: String) -> Bool {
    let reader: ByteReader
    do throws(ReadError) { reader = try ByteReader(regularFile: path) } catch {
        if case .unreadable(_, let number) = error { return number.rawValue == EACCES && FileStamp(path).error == nil }
        return false
    }
    var bytes = [UInt8](repeating: 0, count: start.utf8.count)
    let count = (try? reader.read(into: &bytes)) ?? 0
    return !mayBegin(bytes[..<count], start)
}

/// Whether bytes may be the beginning of a file or a line with this start; those of a power failure may be zeros.
package func mayBegin(_ bytes: ArraySlice<UInt8>, _ start: String) -> Bool {
    zip(bytes, start.utf8).allSatisfy { $0 == $1 } || bytes.allSatisfy { $0 == 0 }
}

/// Renames a file; `EEXIST` if the new name is that of anything but a regular file, which is replaced.
package func renameFile(_ path: String, to new: String) throws(ErrorNumber) {
    guard isRegularOrMissing(new) else { throw ErrorNumber(rawValue: EEXIST) }
    guard unsafe rename(path, new) == 0 else { throw .current }
}

/// The path of the file that a path names after all symbolic links, which need not exist; nil if it names something
/// other than a regular file, or a descriptor of a process.
///
/// - Throws: `ELOOP` for a link that leads back, or of another user than this one and root; `EINVAL` for a path with
/// NUL; why a link cannot be read.
package func fileToReplace(_ path: String) throws(ErrorNumber) -> String? {
    // C would end the path there, and write another file.
    guard !path.utf8.contains(0) else { throw ErrorNumber(rawValue: EINVAL) }
    var path = path
    var status = stat()
    // As many links as Linux follows.
    for _ in 0..<40 {
        guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG else { return path }
        guard status.st_mode & S_IFMT == S_IFLNK else { return nil }
        let folder = directoryName(path)
        // A descriptor's link, as behind `/dev/stdout`, may name a file that somebody else is writing, or a removed
        // one.
        if resolved(folder).hasPrefix("/proc/") { return nil }
        // Another user, who may write to the directory, must not choose the file.
        guard [geteuid(), 0].contains(status.st_uid) else { throw ErrorNumber(rawValue: ELOOP) }
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink(path, &bytes, bytes.count)
        guard count > 0 else { throw .current }
        let target = String(decoding: bytes.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        path = target.hasPrefix("/") ? target : "\(folder)/\(target)"
    }
    throw ErrorNumber(rawValue: ELOOP)
}

/// A path without links; unchanged if it does not exist.
package func resolved(_ path: String) -> String {
    guard let text = unsafe realpath(path, nil) else { return path }
    defer { unsafe free(text) }
    return unsafe String(cString: text)
}

/// Whether a path is free, or that of a regular file.
private func isRegularOrMissing(_ path: String) -> Bool {
    var status = stat()
    return unsafe lstat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG
}

/// Writes into a device, a pipe or an open descriptor.
private func writeInto(_ path: String, _ text: String, waits: Bool) throws(ErrorNumber) {
    let descriptor = try openFile(path, O_WRONLY | (waits ? 0 : O_NONBLOCK))
    defer { close(descriptor) }
    if waits { return try writeAll(text, to: descriptor) }
    let bytes = Array(text.utf8)
    let count = retrying { unsafe write(descriptor, bytes, bytes.count) }
    guard count >= 0 else { throw .current }
    guard count == bytes.count else { throw ErrorNumber(rawValue: EAGAIN) }
}

/// Syncs the directory of a path to disk, after a file was created, moved or removed.
package func syncDirectory(of path: String) throws(ErrorNumber) {
    let directory = try openFile(directoryName(path), O_RDONLY | O_DIRECTORY)
    defer { close(directory) }
    guard retrying({ fsync(directory) }) == 0 else { throw .current }
}

/// Opens a file, so that it closes on exec and becomes nobody's terminal; if the flags create it, with mode 0600.
package func openFile(_ path: String, _ flags: Int32) throws(ErrorNumber) -> Int32 {
    guard !path.utf8.contains(0) else { throw ErrorNumber(rawValue: EINVAL) }
    let descriptor = retrying { unsafe open(path, flags | O_CLOEXEC | O_NOCTTY, 0o600) }
    guard descriptor >= 0 else { throw .current }
    return descriptor
}

/// Gives a new file to the owner of its directory, if this process may: a service must be able to use what root writes.
package func giveToOwnerOfDirectory(of path: String, _ descriptor: Int32) {
    var status = stat()
    guard unsafe stat(directoryName(path), &status) == 0, status.st_uid != geteuid() else { return }
    // Only root may; for others the file stays unchanged.
    _ = fchown(descriptor, status.st_uid, status.st_gid)
}

/// The directory of a path, without a trailing slash: `.` for a bare name, `/` for a file in the root.
package func directoryName(_ path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    var folder = path.utf8[..<slash]
    while folder.last == UInt8(ascii: "/") { folder = folder.dropLast() }
    return folder.isEmpty ? "/" : String(Substring(folder))
}
