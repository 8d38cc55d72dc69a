/// Cuts bytes into lines as they come in, each within a bound; for a reader that must not block.
///
/// The same lines as a ``LineReader``'s: ended by LF or CRLF, numbered from 1. Those that have nothing but spaces and
/// tabs are passed over, and counted. Keeps at most `limit` bytes of a line, and what it was last given.
struct LineSplitter {
    private let limit: Int
    private var chunk: [UInt8] = []
    private var start = 0
    /// The beginning of a line whose end has not come.
    private var partial: [UInt8] = []
    /// Whether the rest of a line that is too long still has to be passed over.
    private var isSkipping = false
    private var number = 0

    /// Makes one that has been given nothing.
    ///
    /// - Parameter limit: the most bytes of a line, its end not counted.
    init(limit: Int) { self.limit = ByteReader.clamped(limit) }

    /// Takes what came in; call it only when ``next()`` has said that it needs more.
    mutating func append(_ bytes: ArraySlice<UInt8>) {
        chunk = Array(bytes)
        start = 0
    }

    /// The next line, or nil when more has to come in first.
    mutating func next() -> InputLine? {
        while start < chunk.count {
            let lineFeed = chunk[start...].firstIndex(of: UInt8(ascii: "\n"))
            let part = chunk[start..<(lineFeed ?? chunk.count)]
            start = lineFeed.map { $0 + 1 } ?? chunk.count
            if isSkipping {
                isSkipping = lineFeed == nil
                continue
            }
            // One byte more than the limit may be the CR of a CRLF.
            guard partial.count + part.count <= limit + 1 else { return tooLong(hasEnded: lineFeed != nil) }
            partial += part
            if lineFeed != nil {
                if let line = takeLine(hasLineFeed: true) { return line }
            } else if partial.count > limit, partial.last != Self.carriageReturn {
                return tooLong(hasEnded: false)
            }
        }
        chunk = []
        start = 0
        return nil
    }

    /// The line that the input ended with, if it had no end of its own; nil where there is none.
    mutating func finish() -> InputLine? { partial.isEmpty ? nil : takeLine(hasLineFeed: false) }

    /// Whether there is the beginning of a line whose end has not come.
    var hasPartialLine: Bool { !partial.isEmpty }

    /// Whether all that was given has been cut.
    var needsMore: Bool { chunk.isEmpty }

    private static let carriageReturn = UInt8(ascii: "\r")

    private mutating func tooLong(hasEnded: Bool) -> InputLine {
        partial = []
        isSkipping = !hasEnded
        number += 1
        return .tooLong(number: number)
    }

    /// The line that was gathered; nil for a blank one.
    private mutating func takeLine(hasLineFeed: Bool) -> InputLine? {
        var line = partial
        partial = []
        number += 1
        if hasLineFeed, line.last == Self.carriageReturn { line.removeLast() }
        if line.count > limit { return .tooLong(number: number) }
        let isBlank = line.allSatisfy { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        return isBlank ? nil : .bytes(line, number: number)
    }
}
