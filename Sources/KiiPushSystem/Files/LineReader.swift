/// One line of a file or a stream, without its line end.
package enum InputLine: Sendable, Hashable {
    /// A line: its raw bytes, valid UTF-8 or not, and its number, from 1.
    case bytes([UInt8], number: Int)
    /// A line longer than the limit; the next one is read as usual.
    case tooLong(number: Int)
}

/// Reads a file or a stream line by line, as ``LineSplitter`` splits it.
///
/// A line is returned as soon as its end was read, so lines from `tail -f` appear at once. Needs at most three times
/// `limit` of memory, plus 128 KiB.
package struct LineReader: ~Copyable, Sendable {
    private let source: ByteReader
    private var splitter: LineSplitter
    private var buffer: [UInt8]

    /// Reads lines of at most `limit` bytes, without their ends, from a file or a stream.
    package init(_ source: consuming ByteReader, limit: Int, bufferSize: Int = 65_536) {
        self.source = source
        splitter = LineSplitter(limit: limit)
        buffer = [UInt8](repeating: 0, count: bufferSize)
    }

    /// The next line, or nil at the end; blocks until there is a whole one.
    ///
    /// An overlong line is reported as soon as it is known, and the next call skips its rest.
    ///
    /// - Throws: ``ReadError/unreadable(name:_:)``; the bytes read of the line are then lost.
    package mutating func next() throws(ReadError) -> InputLine? {
        while true {
            if let line = splitter.next() { return line }
            let count = try source.read(into: &buffer)
            if count == 0 { return splitter.finish() }
            splitter.append(buffer[..<count])
        }
    }
}
