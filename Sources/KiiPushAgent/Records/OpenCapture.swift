import CLibrary
import KiiPushSystem

/// An open capture file; closed when it is released.
final class OpenCapture: Sendable {
    private let descriptor: Int32
    private let path: String
    private let stamp: FileStamp
    /// The time of the last existing line.
    let lastTime: Duration

    /// Opens or creates a file, with mode 0600; removes a partial last line.
    init(_ path: String) throws(ErrorNumber) {
        guard !path.utf8.contains(0) else { throw ErrorNumber(rawValue: EINVAL) }
        guard let file = try fileToReplace(path) else { throw ErrorNumber(rawValue: EINVAL) }
        let flags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK
        let descriptor = retrying { unsafe open(file, flags, 0o600) }
        guard descriptor >= 0 else { throw .current }
        do throws(ErrorNumber) {
            var status = stat()
            guard unsafe fstat(descriptor, &status) == 0 else { throw .current }
            guard status.st_mode & S_IFMT == S_IFREG else { throw ErrorNumber(rawValue: EINVAL) }
            lastTime = try Self.repair(descriptor, Int(status.st_size))
        } catch {
            close(descriptor)
            throw error
        }
        if lastTime == .zero { giveToOwnerOfDirectory(of: file, descriptor) }
        self.descriptor = descriptor
        self.path = path
        stamp = FileStamp(path)
    }

    deinit { close(descriptor) }

    /// Whether the path still names this file.
    var isInPlace: Bool { FileStamp(path).isSameFile(as: stamp) }

    /// The file's size.
    var size: Int {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
    }

    /// Appends a whole line, or nothing.
    func append(_ line: String) throws(ErrorNumber) {
        let before = size
        do throws(ErrorNumber) { try writeAll(line, to: descriptor) } catch {
            // A full disk accepts a part; the next line must not begin in the middle of this one.
            _ = ftruncate(descriptor, before)
            throw error
        }
    }

    /// Removes a partial last line; returns the time of the last whole one.
    private static func repair(_ descriptor: Int32, _ size: Int) throws(ErrorNumber) -> Duration {
        guard size > 0 else { return .zero }
        // A line is rarely longer than the largest payload, encoded as a string.
        let tailSize = min(size, 1 << 20)
        var tail = [UInt8](repeating: 0, count: tailSize)
        let count = unsafe tail.withUnsafeMutableBytes { bytes in
            retrying { unsafe pread(descriptor, bytes.baseAddress, bytes.count, size - tailSize) }
        }
        guard count == tailSize else { throw count < 0 ? .current : ErrorNumber(rawValue: EIO) }
        let feed = UInt8(ascii: "\n")
        guard let end = tail.lastIndex(of: feed) else {
            if tailSize == size, ftruncate(descriptor, 0) != 0 { throw .current }
            return .zero
        }
        let unfinished = tail.count - end - 1
        if unfinished > 0, ftruncate(descriptor, size - unfinished) != 0 { throw .current }
        let line = tail[..<end].split(separator: feed).last ?? []
        return CaptureLine.time(of: line) ?? .zero
    }
}
