import KiiPush
package import KiiPushRules

extension SourcePosition {
    /// The position of the byte at `offset`; an offset behind the end counts as the end.
    package init(_ offset: Int, in bytes: [UInt8]) {
        let before = bytes.prefix(offset)
        let line = before.reduce(1) { $1 == UInt8(ascii: "\n") ? $0 + 1 : $0 }
        let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        self.init(line: line, column: before.count - start + 1)
    }
}
