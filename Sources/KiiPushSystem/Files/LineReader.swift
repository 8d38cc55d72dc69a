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
    private var buffer = [UInt8](repeating: 0, count: 65_536)

    /// Reads lines of at most `limit` bytes, without their ends, from a file or a stream.
    package init(_ source: consuming ByteReader, limit: Int) {
        self.source = source
        splitter = LineSplitter(limit: limit)
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

/// Splits incoming bytes into lines, with a size limit per line.
///
/// A line ends with LF or CRLF; the last one may end with the input. Lines are numbered from 1; those of only spaces
/// and tabs are skipped, but counted. Keeps at most `limit` bytes of a line, and the last chunk.
package struct LineSplitter: Sendable {
    private let limit: Int
    private var chunk: [UInt8] = []
    private var start = 0
    /// The beginning of an incomplete line.
    private var partial: [UInt8] = []
    /// Whether the rest of an overlong line must still be skipped.
    private var isSkipping = false
    private var number = 0
    /// The beginning of the last line that was too long, up to 16 bytes.
    package private(set) var tooLongStart: [UInt8] = []

    /// Makes an empty one, for lines of at most `limit` bytes, without their ends.
    package init(limit: Int) { self.limit = ByteReader.clamped(limit) }

    /// Adds a chunk; call it only after ``next()`` has returned nil.
    package mutating func append(_ bytes: ArraySlice<UInt8>) {
        chunk = Array(bytes)
        start = 0
    }

    /// The next line, or nil if more input is needed.
    package mutating func next() -> InputLine? {
        while start < chunk.count {
            let lineFeed = chunk[start...].firstIndex(of: UInt8(ascii: "\n"))
            let part = chunk[start..<(lineFeed ?? chunk.count)]
            start = lineFeed.map { $0 + 1 } ?? chunk.count
            if isSkipping {
                isSkipping = lineFeed == nil
                continue
            }
            // One byte more than the limit may be the CR of a CRLF.
            guard partial.count + part.count <= limit + 1 else { return tooLong(part, hasEnded: lineFeed != nil) }
            partial += part
            if lineFeed != nil {
                if let line = takeLine(hasLineFeed: true) { return line }
            } else if partial.count > limit, partial.last != Self.carriageReturn {
                return tooLong([], hasEnded: false)
            }
        }
        chunk = []
        start = 0
        return nil
    }

    /// The last line of the input, if it had no line end; otherwise nil.
    package mutating func finish() -> InputLine? { partial.isEmpty ? nil : takeLine(hasLineFeed: false) }

    package var hasPartialLine: Bool { !partial.isEmpty }

    private static let carriageReturn = UInt8(ascii: "\r")

    private mutating func tooLong(_ part: ArraySlice<UInt8>, hasEnded: Bool) -> InputLine {
        tooLongStart = Array((partial.prefix(16) + part.prefix(16)).prefix(16))
        partial = []
        isSkipping = !hasEnded
        number += 1
        return .tooLong(number: number)
    }

    /// The collected line; nil for a blank one.
    private mutating func takeLine(hasLineFeed: Bool) -> InputLine? {
        var line = partial
        partial = []
        number += 1
        if hasLineFeed, line.last == Self.carriageReturn { line.removeLast() }
        if line.count > limit {
            tooLongStart = Array(line.prefix(16))
            return .tooLong(number: number)
        }
        let isBlank = line.allSatisfy { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        return isBlank ? nil : .bytes(line, number: number)
    }
}

extension [UInt8] {
    /// Whether it is only the beginning of a JSON text, as the first line of one that is printed over several lines.
    package var isOpeningOfJSON: Bool {
        let text = self.filter { $0 > 0x20 }
        return text == [UInt8(ascii: "{")] || text == [UInt8(ascii: "[")]
    }
}
