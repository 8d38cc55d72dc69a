import Glibc

/// An open file or stream, read within a bound.
///
/// ```swift
/// let bytes = try ByteReader(path: "a.json").readAll(limit: 65_536)
/// ```
///
/// Give it to a ``LineReader`` to read it line by line instead. A file that it opened is closed when the value goes.
package struct ByteReader: ~Copyable, Sendable {
    /// The largest bound there is, 256 MiB; a reader that is given a larger one takes this.
    package static let largestLimit = 256 << 20

    /// What errors call it: the path, or the name it was given.
    package let name: String

    private let descriptor: Int32
    private let closesDescriptor: Bool

    /// Opens a file.
    ///
    /// - Parameter path: the file's path; a directory opens, and cannot be read.
    /// - Throws: ``ReadError/unreadable(name:_:)``.
    package init(path: String) throws(ReadError) {
        // C would take the path to end there, and open another file.
        guard !path.utf8.contains(0) else {
            throw .unreadable(name: path, ErrorNumber(rawValue: EINVAL))
        }
        let descriptor = retrying { unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) }
        guard descriptor >= 0 else { throw .unreadable(name: path, .current) }
        name = path
        self.descriptor = descriptor
        closesDescriptor = true
    }

    /// Opens a file that has to be one, and never waits for another program: for what is read while a program runs.
    ///
    /// A pipe, a device, a socket or a directory in its place is refused. Symbolic links are followed.
    ///
    /// - Parameter path: the file's path.
    /// - Throws: ``ReadError/unreadable(name:_:)``, ``ReadError/notAFile(name:)``.
    package init(regularFile path: String) throws(ReadError) {
        let descriptor = try Self.openRegularFile(path)
        name = path
        self.descriptor = descriptor
        closesDescriptor = true
    }

    private static func openRegularFile(_ path: String) throws(ReadError) -> Int32 {
        guard !path.utf8.contains(0) else { throw .unreadable(name: path, ErrorNumber(rawValue: EINVAL)) }
        // A pipe's other end may never come.
        let descriptor = retrying { unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) }
        // A socket cannot be opened at all.
        guard descriptor >= 0 else { throw errno == ENXIO ? .notAFile(name: path) : .unreadable(name: path, .current) }
        var status = stat()
        let failure: ReadError? =
            if unsafe fstat(descriptor, &status) != 0 {
                .unreadable(name: path, .current)
            } else {
                status.st_mode & S_IFMT == S_IFREG ? nil : .notAFile(name: path)
            }
        guard let failure else { return descriptor }
        close(descriptor)
        throw failure
    }

    /// Reads from a descriptor that somebody else opened, and closes after the reader is gone.
    ///
    /// - Parameters:
    ///   - descriptor: the descriptor; it may be non-blocking.
    ///   - name: what errors call it.
    package init(descriptor: Int32, name: String) {
        self.name = name
        self.descriptor = descriptor
        closesDescriptor = false
    }

    /// The process's standard input.
    package static func standardInput() -> ByteReader {
        ByteReader(descriptor: STDIN_FILENO, name: "standard input")
    }

    deinit {
        if closesDescriptor { close(descriptor) }
    }

    /// Reads what is left, to the end.
    ///
    /// Needs at most `limit` bytes of memory and one more, however much there is to read.
    ///
    /// - Parameter limit: the most bytes to take; exactly as many are fine.
    /// - Returns: the bytes, unchanged.
    /// - Throws: ``ReadError/tooLarge(name:limit:)`` when there are more, and then the rest stays unread;
    ///   ``ReadError/unreadable(name:_:)``.
    package borrowing func readAll(limit: Int) throws(ReadError) -> [UInt8] {
        let limit = Self.clamped(limit)
        let descriptor = descriptor
        var failure: ErrorNumber?
        // One block for all: an array that grows holds its old self and its new one at a time. What is never written
        // costs address space only. Each byte that is counted was written by `read`.
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: limit + 1) { buffer, count in
            while count <= limit {
                let rest = unsafe UnsafeMutableRawBufferPointer(
                    rebasing: UnsafeMutableRawBufferPointer(buffer)[count...])
                let taken = unsafe Self.read(descriptor, into: rest)
                if taken < 0 { failure = .current }
                if taken <= 0 { break }
                count += taken
            }
        }
        if let failure { throw .unreadable(name: name, failure) }
        if bytes.count > limit { throw .tooLarge(name: name, limit: limit) }
        return Self.trimmed(bytes, of: limit)
    }

    /// Reads once, as much as there is by now, and blocks only if there is nothing.
    ///
    /// - Parameter buffer: where the bytes go; all of it can be overwritten.
    /// - Returns: the number of bytes; 0 at the end.
    /// - Throws: ``ReadError/unreadable(name:_:)``.
    borrowing func read(into buffer: inout [UInt8]) throws(ReadError) -> Int {
        let descriptor = descriptor
        let taken = unsafe buffer.withUnsafeMutableBytes { unsafe Self.read(descriptor, into: $0) }
        if taken < 0 { throw .unreadable(name: name, .current) }
        return taken
    }

    static func clamped(_ limit: Int) -> Int { min(max(limit, 0), largestLimit) }

    private static func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        while true {
            let taken = retrying { unsafe Glibc.read(descriptor, buffer.baseAddress, buffer.count) }
            // Standard input is non-blocking when another program that shares it has made it so.
            guard taken < 0, errno == EAGAIN, waitUntilReady(descriptor, for: POLLIN) else { return taken }
        }
    }

    /// The same bytes, in an array of their own size if they are few, so that a small payload keeps no large block.
    static func trimmed(_ bytes: [UInt8], of limit: Int) -> [UInt8] {
        guard bytes.count <= limit / 2 else { return bytes }
        var exact: [UInt8] = []
        exact.reserveCapacity(bytes.count)
        exact.append(contentsOf: bytes)
        return exact
    }
}
