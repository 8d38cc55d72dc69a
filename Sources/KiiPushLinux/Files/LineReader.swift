/// One line of a file or a stream, without its line end.
package enum InputLine: Sendable, Hashable {
    /// A line: its bytes as they are, valid UTF-8 or not, and its number, from 1.
    case bytes([UInt8], number: Int)
    /// A line that is longer than the reader takes; the next one is read as usual.
    case tooLong(number: Int)
}

/// Reads a file or a stream line by line, each within a bound.
///
/// ```swift
/// var lines = LineReader(.standardInput(), limit: 65_536)
/// while let line = try lines.next() { print(line) }
/// ```
///
/// A line ends with LF or CRLF; the last one may end with the input. A line is given out as soon as its end was
/// read, so one that `tail -f` writes is seen at once. Needs at most `limit` bytes of memory and 64 KiB.
package struct LineReader: ~Copyable, Sendable {
    private let source: ByteReader
    private let limit: Int
    private var buffer: [UInt8]
    /// What was read and not yet given out.
    private var unread = 0..<0
    private var number = 0
    /// Whether the rest of a line that is too long still has to be passed over.
    private var isSkipping = false

    /// Reads lines from a file or a stream.
    ///
    /// - Parameters:
    ///   - source: where the lines come from.
    ///   - limit: the most bytes of a line, its end not counted.
    package init(_ source: consuming ByteReader, limit: Int) {
        self.init(source, limit: limit, bufferSize: 65_536)
    }

    init(_ source: consuming ByteReader, limit: Int, bufferSize: Int) {
        self.source = source
        self.limit = ByteReader.clamped(limit)
        buffer = [UInt8](repeating: 0, count: bufferSize)
    }

    /// The next line, or nil at the end; blocks while there is no whole one.
    ///
    /// A line that is too long is reported as soon as that is known, and its rest is passed over by the next call.
    ///
    /// - Throws: ``ReadError/unreadable(name:_:)``; what was read of the line is lost then.
    package mutating func next() throws(ReadError) -> InputLine? {
        if isSkipping, try !skipLine() { return nil }
        number += 1
        if let lineFeed = lineFeedInBuffer() {
            return line(Array(buffer[take(upTo: lineFeed)]), hasLineFeed: true)
        }
        // In one block of the largest size, for an array that grows holds its old self and its new one at a time. One
        // byte more than the limit may be the CR of a CRLF.
        var line: [UInt8] = []
        line.reserveCapacity(limit + 1)
        while true {
            let lineFeed = lineFeedInBuffer()
            let part = take(upTo: lineFeed)
            guard line.count + part.count <= limit + 1 else {
                isSkipping = lineFeed == nil
                return .tooLong(number: number)
            }
            line.append(contentsOf: buffer[part])
            if lineFeed != nil { return self.line(ByteReader.trimmed(line, of: limit), hasLineFeed: true) }
            if line.count > limit, line.last != Self.carriageReturn {
                isSkipping = true
                return .tooLong(number: number)
            }
            if try !fill() { break }
        }
        if !line.isEmpty { return self.line(ByteReader.trimmed(line, of: limit), hasLineFeed: false) }
        number -= 1
        return nil
    }

    private static let carriageReturn = UInt8(ascii: "\r")

    /// Takes a line's bytes out of the buffer, and its line feed; all that is left when there is none.
    private mutating func take(upTo lineFeed: Int?) -> Range<Int> {
        let part = unread.lowerBound..<(lineFeed ?? unread.upperBound)
        unread = (lineFeed.map { $0 + 1 } ?? unread.upperBound)..<unread.upperBound
        return part
    }

    /// The line that these bytes are, once no more of it will come.
    private func line(_ bytes: consuming [UInt8], hasLineFeed: Bool) -> InputLine {
        if hasLineFeed, bytes.last == Self.carriageReturn { bytes.removeLast() }
        return bytes.count > limit ? .tooLong(number: number) : .bytes(bytes, number: number)
    }

    /// Passes over the rest of a line; false when the input ends first.
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

    /// Reads on, over a buffer that was used up; false at the end.
    private mutating func fill() throws(ReadError) -> Bool {
        unread = 0..<0
        unread = try 0..<source.read(into: &buffer)
        return !unread.isEmpty
    }
}
