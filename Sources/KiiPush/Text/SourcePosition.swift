/// A position in a text, as compilers and editors count it.
public struct SourcePosition: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The line, from 1; a line ends with a line feed.
    public let line: Int
    /// The column, from 1, in bytes of UTF-8 as the Swift compiler and clang count; a tab is one.
    public let column: Int

    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    /// Whether one position is before another.
    public static func < (left: SourcePosition, right: SourcePosition) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }

    /// `line:column`.
    public var description: String { "\(line):\(column)" }
}

extension SourcePosition {
    /// The position of the byte at `offset`; an offset behind the end counts as the end.
    package init(_ offset: Int, in bytes: [UInt8]) {
        let before = bytes.prefix(offset)
        let line = before.reduce(1) { $1 == UInt8(ascii: "\n") ? $0 + 1 : $0 }
        let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        self.init(line: line, column: before.count - start + 1)
    }
}
