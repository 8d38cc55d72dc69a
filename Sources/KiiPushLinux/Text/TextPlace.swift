/// A place in a text, as editors count it: line and column from 1, columns in bytes.
package struct TextPlace: Sendable, Hashable, CustomStringConvertible {
    package let line: Int
    package let column: Int

    /// The place of the byte at `offset`; an offset behind the end is the end's.
    package init(_ offset: Int, in bytes: [UInt8]) {
        let before = bytes.prefix(offset)
        line = before.reduce(1) { $1 == UInt8(ascii: "\n") ? $0 + 1 : $0 }
        let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        column = before.count - start + 1
    }

    /// `line:column`.
    package var description: String { "\(line):\(column)" }
}
