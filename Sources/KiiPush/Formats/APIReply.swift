/// Recognises a reply of Kii's API over MQTT, which arrives on the same connection as pushes but is not one.
///
/// It is text, not JSON: a start line as in HTTP, header lines, an empty line, then a body. A payload that is not JSON
/// and has this form is refused with a code of its own, so that nobody looks for a broken push.
enum APIReply {
    /// Whether the bytes begin with a start line, of at most 1,024 bytes, and a header line.
    static func isOne(_ bytes: [UInt8]) -> Bool {
        let lines = bytes.prefix(4096).split(
            separator: UInt8(ascii: "\n"), maxSplits: 2, omittingEmptySubsequences: false)
        guard lines.count > 1, let first = lines[0].first, isWord(first) else { return false }
        let startLine = lines[0].last == UInt8(ascii: "\r") ? lines[0].dropLast() : lines[0]
        guard startLine.count <= 1024, startLine.allSatisfy({ $0 >= 0x20 }) else { return false }
        let name = lines[1].prefix { isWord($0) || $0 == UInt8(ascii: "-") }
        return !name.isEmpty && lines[1].dropFirst(name.count).first == UInt8(ascii: ":")
    }

    private static func isWord(_ byte: UInt8) -> Bool { byte.isDigit || byte.isASCIILetter }
}
