// Untrusted text is compared and hashed by its bytes. Swift treats two spellings of one character as equal strings, and
// sorts each run of combining marks to compare them: a quarter of a second for one hash of 64 KiB of them.

extension String {
    package func isExactly(_ other: String) -> Bool {
        let bytes = utf8.span
        return bytes.matches(0..<bytes.count, other)
    }

    package func begins(exactlyWith prefix: String) -> Bool {
        let bytes = utf8.span
        return bytes.begins(0..<bytes.count, with: prefix)
    }

    /// Whether the text contains a control character (U+0000 to U+001F, U+007F to U+009F).
    package var hasControlCharacters: Bool {
        unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }
    }

    /// Whether the text contains the bytes of `part`.
    ///
    /// The standard library's method links its regular expressions, a megabyte in a small program.
    package func contains(exactly part: String) -> Bool {
        let bytes = utf8.span
        let last = bytes.count - part.utf8.count
        return last >= 0 && (0...last).contains { bytes.begins($0..<bytes.count, with: part) }
    }

    /// The text without its first `count` bytes, which must be whole characters.
    package func droppingFirst(bytes count: Int) -> String { String(decoding: utf8.dropFirst(count), as: UTF8.self) }

    /// The texts between commas, each without the spaces before it; none is empty.
    package var listedByCommas: [String] {
        utf8.split(separator: UInt8(ascii: ",")).map { part in
            String(decoding: part.drop { $0 == UInt8(ascii: " ") }, as: UTF8.self)
        }
    }

    package func hashExactly(into hasher: inout Hasher) {
        let bytes = utf8.span
        hasher.combine(bytes.count)
        for offset in stride(from: 0, to: bytes.count, by: 8) {
            hasher.combine(bytes.word(at: offset, length: min(8, bytes.count - offset)))
        }
    }
}

package struct ExactText: Hashable, Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func == (left: ExactText, right: ExactText) -> Bool { left.text.isExactly(right.text) }

    package func hash(into hasher: inout Hasher) { text.hashExactly(into: &hasher) }
}

extension [String] {
    package func containsExactly(_ text: String) -> Bool { contains { $0.isExactly(text) } }
}
