/// Recognises a reply of Kii's API over MQTT, which arrives on the same connection as pushes but is not one.
///
/// It is text, not JSON: a start line as in HTTP, header lines, an empty line, then a body. A payload that is not JSON
/// and has this form is refused with a code of its own, so that nobody looks for a broken push.
enum APIReply {
    /// Whether `text` has a start line followed by a header line.
    static func isOne(_ text: Span<UInt8>) -> Bool {
        guard let startLineEnd = lineEnd(text), startLineEnd > 0, isWord(text[0]) else { return false }
        var index = startLineEnd + (text[startLineEnd] == UInt8(ascii: "\r") ? 2 : 1)
        let start = index
        while index < text.count, isWord(text[index]) || text[index] == UInt8(ascii: "-") { index += 1 }
        return index > start && index < text.count && text[index] == UInt8(ascii: ":")
    }

    /// The end of the first line, if that has the length of a start line at most, and no control character.
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

    private static func isWord(_ byte: UInt8) -> Bool { byte.isDigit || byte.isASCIILetter }
}
