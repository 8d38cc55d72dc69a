/// One line of a file or a stream, without its line end.
package enum InputLine: Sendable, Hashable {
    /// A line: its raw bytes, valid UTF-8 or not, and its number, from 1.
    case bytes([UInt8], number: Int)
    /// A line longer than the limit; the next one is read as usual.
    case tooLong(number: Int)
}

/// Reads a file or a stream line by line, with a size limit per line.
///
/// A line ends with LF or CRLF; the last one may end with the input. A line is returned as soon as its end was read, so
/// lines from `tail -f` appear at once. Needs at most three times `limit` of memory, plus 64 KiB.
package struct LineReader: ~Copyable, Sendable {
    private let source: ByteReader
    private let limit: Int
    private var buffer: [UInt8]
    /// The bytes that were read but not yet returned.
    private var unread = 0..<0
    private var number = 0
    /// Whether the rest of an overlong line must still be skipped.
    private var isSkipping = false

    /// Reads lines of at most `limit` bytes, without their ends, from a file or a stream.
    package init(_ source: consuming ByteReader, limit: Int) {
        self.init(source, limit: limit, bufferSize: 65_536)
    }

    package init(_ source: consuming ByteReader, limit: Int, bufferSize: Int) {
        self.source = source
        self.limit = ByteReader.clamped(limit)
        buffer = [UInt8](repeating: 0, count: bufferSize)
    }

    /// The next line, or nil at the end; blocks until there is a whole one.
    ///
    /// An overlong line is reported as soon as it is known, and the next call skips its rest.
    ///
    /// - Throws: ``ReadError/unreadable(name:_:)``; the bytes read of the line are then lost.
    package mutating func next() throws(ReadError) -> InputLine? {
        if isSkipping, try !skipLine() { return nil }
        number += 1
        if let lineFeed = lineFeedInBuffer() {
            return line(Array(buffer[take(upTo: lineFeed)]), hasLineFeed: true)
        }
        // One byte more than the limit may be the CR of a CRLF.
        var line: [UInt8] = []
        while true {
            let lineFeed = lineFeedInBuffer()
            let part = take(upTo: lineFeed)
            guard line.count + part.count <= limit + 1 else {
                isSkipping = lineFeed == nil
                return .tooLong(number: number)
            }
            line.append(contentsOf: buffer[part])
            if lineFeed != nil { return self.line(line, hasLineFeed: true) }
            if line.count > limit, line.last != Self.carriageReturn {
                isSkipping = true
                return .tooLong(number: number)
            }
            if try !fill() { break }
        }
        if !line.isEmpty { return self.line(line, hasLineFeed: false) }
        number -= 1
        return nil
    }

    private static let carriageReturn = UInt8(ascii: "\r")

    /// Takes a line's bytes and its line feed out of the buffer; all remaining bytes if there is no line feed.
    private mutating func take(upTo lineFeed: Int?) -> Range<Int> {
        let part = unread.lowerBound..<(lineFeed ?? unread.upperBound)
        unread = (lineFeed.map { $0 + 1 } ?? unread.upperBound)..<unread.upperBound
        return part
    }

    /// Makes a line from these bytes, when it is complete.
    private func line(_ bytes: consuming [UInt8], hasLineFeed: Bool) -> InputLine {
        if hasLineFeed, bytes.last == Self.carriageReturn { bytes.removeLast() }
        return bytes.count > limit ? .tooLong(number: number) : .bytes(bytes, number: number)
    }

    /// Skips the rest of a line; false if the input ends first.
    private mutating func skipLine() throws(ReadError) -> Bool {
        while true {
            if let lineFeed = lineFeedInBuffer() {
                _ = take(upTo: lineFeed)
                isSkipping = false
                return true
            }
            if try !fill() { return false }
        }
    }

    private func lineFeedInBuffer() -> Int? { buffer[unread].firstIndex(of: UInt8(ascii: "\n")) }

    /// Refills a used-up buffer; false at the end.
    private mutating func fill() throws(ReadError) -> Bool {
        unread = 0..<0
        unread = try 0..<source.read(into: &buffer)
        return !unread.isEmpty
    }
}
