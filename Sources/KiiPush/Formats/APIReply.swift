/// Recognises a reply of Kii's API over MQTT, which comes on the same connection as pushes and is none.
///
/// Text, not JSON: a start line as in HTTP, header lines, an empty line, then a body. A payload that cannot be read as
/// JSON and has this shape is refused by a code of its own, so that nobody looks for a broken push.
enum APIReply {
    /// Whether `text` has a start line and a header line behind it.
    static func isOne(_ text: Span<UInt8>) -> Bool {
        guard let startLineEnd = lineEnd(text), startLineEnd > 0, isWord(text[0]) else { return false }
        var index = startLineEnd + (text[startLineEnd] == UInt8(ascii: "\r") ? 2 : 1)
        let start = index
        while index < text.count, isWord(text[index]) || text[index] == UInt8(ascii: "-") { index += 1 }
        return index > start && index < text.count && text[index] == UInt8(ascii: ":")
    }

    /// Where the first line ends, if it does within what a start line may have, and has no control character in it.
    private static func lineEnd(_ text: Span<UInt8>) -> Int? {
        for index in 0..<min(text.count, 1024) {
            let byte = text[index]
            if byte == UInt8(ascii: "\n") { return index }
            if byte == UInt8(ascii: "\r") {
                return index + 1 < text.count && text[index + 1] == UInt8(ascii: "\n") ? index : nil
            }
            if byte < 0x20 { return nil }
        }
        return nil
    }

    private static func isWord(_ byte: UInt8) -> Bool { byte.isDigit || (0x61...0x7A).contains(byte | 0x20) }
}
