package import CLibrary

/// An open file or stream, read within a limit.
///
/// Pass it to a ``LineReader`` to read line by line instead. It closes a file that it opened when it is released.
package struct ByteReader: ~Copyable, Sendable {
    /// The largest limit, 256 MiB; a larger one is reduced to this.
    package static let largestLimit = 256 << 20

    /// Its name in errors: the path, or a given name.
    package let name: String

    private let descriptor: Int32
    private let closesDescriptor: Bool

    /// Opens a file; a directory can be opened, but not read.
    ///
    /// - Throws: ``ReadError/unreadable(name:_:)``.
    package init(path: String) throws(ReadError) {
        let descriptor = try Self.opened(path)
        (self.descriptor, name, closesDescriptor) = (descriptor, path, true)
    }

    /// Opens a regular file without ever waiting for another program; for reading while a program runs.
    ///
    /// Refuses a pipe, a device, a socket or a directory, and a symbolic link (`ELOOP`) unless it `followsLinks`.
    ///
    /// - Throws: ``ReadError/unreadable(name:_:)``, ``ReadError/notAFile(name:)``.
    package init(regularFile path: String, followsLinks: Bool = true) throws(ReadError) {
        // Opening a pipe could wait forever for its other end.
        let descriptor = try Self.opened(path, O_NONBLOCK | (followsLinks ? 0 : O_NOFOLLOW))
        guard let status = Self.status(of: descriptor), status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw .notAFile(name: path)
        }
        (self.descriptor, name, closesDescriptor) = (descriptor, path, true)
    }

    private static func opened(_ path: String, _ flags: Int32 = 0) throws(ReadError) -> Int32 {
        do throws(ErrorNumber) { return try openFile(path, O_RDONLY | flags) } catch {
            // A socket cannot be opened at all.
            throw flags != 0 && error.rawValue == ENXIO ? .notAFile(name: path) : .unreadable(name: path, error)
        }
    }

    /// Reads from a descriptor, perhaps non-blocking, that the caller opened, and closes after releasing the reader.
    package init(descriptor: Int32, name: String) {
        self.name = name
        self.descriptor = descriptor
        closesDescriptor = false
    }

    package static func standardInput() -> ByteReader {
        ByteReader(descriptor: STDIN_FILENO, name: "standard input")
    }

    deinit {
        if closesDescriptor { close(descriptor) }
    }

    /// Reads the rest, to the end: exactly `limit` bytes are allowed.
    ///
    /// Needs as much memory as a file says that it has, and at most twice `limit`, however large the input.
    ///
    /// - Throws: ``ReadError/tooLarge(name:limit:)`` if there are more, and most of the rest stays unread;
    /// ``ReadError/unreadable(name:_:)``.
    package borrowing func readAll(limit: Int) throws(ReadError) -> [UInt8] {
        let limit = Self.clamped(limit)
        // Not a block of the limit's size: when the C library frees a large one, it raises its thresholds, and then
        // returns less memory to the system for as long as the process lasts.
        var bytes: [UInt8] = []
        bytes.reserveCapacity(min(statedSize, limit))
        var part = [UInt8](repeating: 0, count: min(limit + 1, 16_384))
        while bytes.count <= limit {
            let taken = try read(into: &part)
            if taken == 0 { return bytes }
            bytes.append(contentsOf: part[..<taken])
        }
        throw .tooLarge(name: name, limit: limit)
    }

    /// The size that the descriptor's file states; 0 for a pipe, and for the files of `/proc`.
    private var statedSize: Int { status.map { max(Int($0.st_size), 0) } ?? 0 }

    /// What the system says of the file; nil if it does not, with the reason in `errno`.
    package var status: stat? { Self.status(of: descriptor) }

    private static func status(of descriptor: Int32) -> stat? {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 ? status : nil
    }

    /// Reads once, as much as is available, and blocks only if nothing is; returns the number of bytes, 0 at the end.
    ///
    /// All of the buffer may be overwritten.
    ///
    /// - Throws: ``ReadError/unreadable(name:_:)``.
    package borrowing func read(into buffer: inout [UInt8]) throws(ReadError) -> Int {
        let descriptor = descriptor
        let taken = unsafe buffer.withUnsafeMutableBytes { unsafe readWhenReady(descriptor, into: $0) }
        if taken < 0 { throw .unreadable(name: name, .current) }
        return taken
    }

    package static func clamped(_ limit: Int) -> Int { min(max(limit, 0), largestLimit) }
}

private func readWhenReady(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    while true {
        let taken = retrying { unsafe read(descriptor, buffer.baseAddress, buffer.count) }
        // Standard input is non-blocking if another program that shares it has made it so.
        guard taken < 0, errno == EAGAIN, waitUntilReady(descriptor, for: POLLIN) else { return taken }
    }
}
