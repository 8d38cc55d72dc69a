import KiiPush

/// The text of a rules file, with the line and column of each byte.
struct RulesSource: Sendable {
    /// The line of each block's first byte, so that a position is found without scanning from the beginning.
    private struct Mark {
        var line: Int32
        var lineStart: Int32
    }

    private static let blockSize = 512

    let file: String
    let bytes: [UInt8]
    private let marks: [Mark]

    init(_ bytes: [UInt8], file: String) {
        self.file = file
        self.bytes = bytes
        var marks: [Mark] = []
        var mark = Mark(line: 1, lineStart: 0)
        let text = bytes.span
        for offset in 0..<text.count {
            if offset % Self.blockSize == 0 { marks.append(mark) }
            if text[offset] == UInt8(ascii: "\n") { mark = Mark(line: mark.line + 1, lineStart: Int32(offset + 1)) }
        }
        self.marks = marks
    }

    /// The line and column of a byte, or of the end.
    func position(of offset: Int) -> SourcePosition {
        guard !marks.isEmpty else { return SourcePosition(line: 1, column: 1) }
        let offset = min(max(offset, 0), bytes.count)
        let block = min(offset / Self.blockSize, marks.count - 1)
        var line = Int(marks[block].line)
        var lineStart = Int(marks[block].lineStart)
        let text = bytes.span
        for index in (block * Self.blockSize)..<max(offset, block * Self.blockSize)
        where text[index] == UInt8(ascii: "\n") {
            line += 1
            lineStart = index + 1
        }
        return SourcePosition(line: line, column: offset - lineStart + 1)
    }
}
