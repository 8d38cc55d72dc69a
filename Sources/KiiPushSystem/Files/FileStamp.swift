import CLibrary

/// Identifies the state of a file without reading it; follows links.
package struct FileStamp: Hashable, Sendable {
    private var device: UInt64 = 0
    private var inode: UInt64 = 0
    private var mode: UInt32 = 0
    package private(set) var size: Int64 = 0
    private var modified: Int64 = 0
    private var changed: Int64 = 0
    /// Why nothing is known of the file, such as `ENOENT`; nil if it exists.
    package private(set) var error: ErrorNumber?

    package init(_ path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else {
            error = .current
            return
        }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        mode = status.st_mode
        size = Int64(status.st_size)
        modified = Self.nanoseconds(status.st_mtim)
        changed = Self.nanoseconds(status.st_ctim)
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }

    package var isDirectory: Bool { error == nil && mode & S_IFMT == S_IFDIR }
    package var isRegular: Bool { error == nil && mode & S_IFMT == S_IFREG }

    /// Whether both are the same file, regardless of contents.
    package func isSameFile(as other: FileStamp) -> Bool {
        error == nil && other.error == nil && device == other.device && inode == other.inode
    }
}
