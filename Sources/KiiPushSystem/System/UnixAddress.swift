package import CLibrary

/// The address of a Unix socket: a path, or a name without a file.
package struct UnixAddress {
    private var address = sockaddr_un()
    private let length: socklen_t
    /// Kept open for a path that names it by its number; nil for others.
    private var directory: OpenDirectory?

    /// The most bytes of a path.
    package static let longestPath = MemoryLayout<sockaddr_un>.size - MemoryLayout<sa_family_t>.size - 1

    /// The address of a path; nil if it is empty, too long or contains NUL.
    package init?(path: String) {
        guard !path.isEmpty, !path.utf8.contains(0) else { return nil }
        self.init(bytes: Array(path.utf8) + [0])
    }

    /// The address of a path of any length, a long one by its open directory in `/proc`; nil if it is empty or contains
    /// NUL, or if its name is too long or its directory cannot be opened.
    package init?(ofAnyLength path: String) {
        guard path.utf8.count > Self.longestPath else {
            self.init(path: path)
            return
        }
        guard let name = path.split(separator: "/").last, let directory = OpenDirectory(directoryName(path)) else {
            return nil
        }
        self.init(path: "/proc/self/fd/\(directory.descriptor)/\(name)")
        self.directory = directory
    }

    /// The address of an abstract name; nil if it is too long.
    package init?(abstract name: String) { self.init(bytes: [0] + Array(name.utf8)) }

    private init?(bytes: [UInt8]) {
        guard bytes.count <= Self.longestPath + 1 else { return nil }
        address.sun_family = sa_family_t(AF_UNIX)
        length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        // The length was checked above.
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    }

    /// Calls `body` with the address for system calls; the pointer is valid until it returns.
    package func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        unsafe withUnsafePointer(to: address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, length) }
        }
    }

    /// Sends a datagram; blocks while its reader is behind, for at most `limit`; returns whether it was sent.
    package func send(_ bytes: [UInt8], limit: Duration? = nil) -> Bool {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        if let limit {
            var time = timeval(tv_sec: 0, tv_usec: Int(limit / .microseconds(1)))
            _ = unsafe setsockopt(
                descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout.size(ofValue: time)))
        }
        return unsafe withPointer { pointer, length in
            retrying { unsafe sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), pointer, length) }
        } == bytes.count
    }
}

/// A directory that is open until this is released.
private final class OpenDirectory: Sendable {
    let descriptor: Int32

    /// Opens a directory; nil if that fails, with the reason in `errno`.
    init?(_ path: String) {
        let opened = retrying { unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        // Before the property is set: else this would be closed.
        guard opened >= 0 else { return nil }
        descriptor = opened
    }

    deinit { close(descriptor) }
}
