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

    /// Whether there is an incomplete line.
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
