import Testing

@testable import KiiPushSystem

struct EscapedTextTests {
    @Test(
        "escapes terminal control sequences",
        arguments: [
            ("\u{1B}[2J\u{1B}[H", "\\u{1B}[2J\\u{1B}[H"),
            ("\u{1B}]0;title\u{07}", "\\u{1B}]0;title\\u{7}"),
            ("\u{9B}31m", "\\u{9B}31m"),
            ("a\nb\rc\r\nd\te", "a\\nb\\rc\\r\\nd\\te"),
            ("nul\0", "nul\\u{0}"),
            ("del\u{7F}", "del\\u{7F}"),
            ("back\u{08}space", "back\\u{8}space"),
            ("next\u{85}line", "next\\u{85}line"),
            ("\u{202E}txt.exe\u{202C}", "\\u{202E}txt.exe\\u{202C}"),
            ("\u{2066}a\u{2069}\u{200F}", "\\u{2066}a\\u{2069}\\u{200F}"),
            ("\u{2028}\u{2029}\u{061C}", "\\u{2028}\\u{2029}\\u{61C}"),
            // A combining mark makes one character with what is before it; that hides nothing.
            ("\u{1B}\u{301}", "\\u{1B}\u{301}"),
        ])
    func escapes(text: String, expected: String) {
        #expect(EscapedText(text).description == expected)
    }

    @Test(
        "keeps all other text",
        arguments: [
            "", "plain", "back\\slash \\n", "äöü ñ", "日本語", "עברית", "👩‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿", "a\u{A0}b", "\u{FFFD}", "<b>&\"'$(x)`",
        ])
    func keeps(text: String) {
        #expect(EscapedText(text).description == text)
    }

    @Test("every control character and every one that turns the direction of writing is escaped, and no other")
    func everyScalar() {
        var escaped: [UInt32] = []
        for value in (0...0x10FFFF as ClosedRange<UInt32>) {
            guard let scalar = Unicode.Scalar(value) else { continue }
            if EscapedText(String(Character(scalar))).description.hasPrefix("\\"), value != 0x5C {
                escaped.append(value)
            }
        }
        let expected = [0...0x1F, 0x7F...0x9F, 0x61C...0x61C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069]
        #expect(escaped == expected.flatMap { $0.map { UInt32($0) } })
    }
}
