import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct JSONStringTests {
    @Test(
        "refuses a broken escape at its backslash",
        arguments: [
            #"{"a":"↓\x41"}"#, #"{"a":"↓\'"}"#, #"{"a":"↓\0"}"#, #"{"a":"↓\U0041"}"#, #"{"a":"↓\ "}"#,
            "{\"a\":\"↓\\\n\"}", #"{"a":"↓\u"}"#, #"{"a":"↓\u004"}"#, #"{"a":"↓\u00g0"}"#, #"{"a":"↓\u+041"}"#,
            #"{"a":"↓\u-041"}"#, #"{"a":"↓\u 041"}"#, #"{"a":"↓\u{41}"}"#, #"{"↓\q":1}"#,
            #"{"a":["long enough to be read as words ↓\q"]}"#,
            // Halves of surrogate pairs.
            #"{"a":"↓\ud800"}"#, #"{"a":"↓\uDBFF."}"#, #"{"a":"↓\udc00"}"#, #"{"a":"x↓\uDFFFx"}"#,
            #"{"a":"↓\ud800\n"}"#, #"{"a":"↓\ud800\u0041"}"#, #"{"a":"↓\ud800\ud800"}"#, #"{"a":"↓\udc00\ud800"}"#,
            #"{"a":"\ud83d\ude00↓\ude00"}"#, #"{"↓\ud800":1}"#,
        ])
    func escapes(_ marked: String) { RefusedText(marked, .invalidEscape).check() }

    @Test("every control character must be escaped", arguments: UInt8(0)...0x1F)
    func controls(_ byte: UInt8) {
        let inValue = Array(#"{"a":"b"#.utf8) + [byte] + Array(#"c"}"#.utf8)
        RefusedText("in a value", inValue, .unexpectedCharacter, at: 7).check()
        let inKey = Array(#"{"b"#.utf8) + [byte] + Array(#"c":1}"#.utf8)
        RefusedText("in a key", inKey, .unexpectedCharacter, at: 3).check()
        let inWords = Array(#"{"a":"sixteen bytes ahead"#.utf8) + [byte] + Array(#"and more"}"#.utf8)
        RefusedText("among many", inWords, .unexpectedCharacter, at: 25).check()
    }

    private static let notUTF8: [(name: String, bytes: [UInt8])] = [
        ("a continuation alone", [0x80]), ("the last continuation alone", [0xBF]), ("overlong slash", [0xC0, 0xAF]),
        ("overlong NUL", [0xC0, 0x80]), ("overlong in two", [0xC1, 0xBF]), ("overlong in three", [0xE0, 0x80, 0x80]),
        ("the last overlong in three", [0xE0, 0x9F, 0xBF]), ("overlong in four", [0xF0, 0x80, 0x80, 0x80]),
        ("the last overlong in four", [0xF0, 0x8F, 0xBF, 0xBF]), ("the first surrogate", [0xED, 0xA0, 0x80]),
        ("the last surrogate", [0xED, 0xBF, 0xBF]), ("beyond U+10FFFF", [0xF4, 0x90, 0x80, 0x80]),
        ("a lead beyond the last", [0xF5, 0x80, 0x80, 0x80]), ("five bytes", [0xF8, 0x88, 0x80, 0x80, 0x80]),
        ("FE", [0xFE]), ("FF", [0xFF]), ("a lead without its second", [0xC3]), ("two of three", [0xE2, 0x82]),
        ("three of four", [0xF0, 0x9F, 0x98]), ("a lead and a plain byte", [0xE2, 0x28, 0xA1]),
        ("two leads", [0xC3, 0xC3]), ("Latin-1", [0xE9, 0x20]), ("a broken third", [0xE2, 0x82, 0x28]),
        ("a broken fourth", [0xF0, 0x9F, 0x98, 0x28]),
    ]

    @Test("refuses invalid UTF-8 where it begins", arguments: notUTF8)
    func invalidUTF8(_ name: String, _ bytes: [UInt8]) {
        let inValue = Array(#"{"a":"é"#.utf8) + bytes + Array(#"b"}"#.utf8)
        RefusedText("\(name) in a value", inValue, .invalidUTF8, at: 8).check()
        RefusedText("\(name) in a key", Array("{\"".utf8) + bytes + Array(#"":1}"#.utf8), .invalidUTF8, at: 2).check()
        RefusedText("\(name) outside", Array(#"{"a":1}"#.utf8) + bytes, .invalidUTF8, at: 7).check()
        RefusedText("\(name) for a value", Array(#"{"a":"#.utf8) + bytes + [0x7D], .invalidUTF8, at: 5).check()
        RefusedText("\(name) first", bytes + Array("{}".utf8), .invalidUTF8, at: 0).check()
    }

    @Test(
        "accepts the first and last scalar of each UTF-8 length",
        arguments: [
            "\u{80}", "\u{7FF}", "\u{800}", "\u{FFF}", "\u{D7FF}", "\u{E000}", "\u{FFFF}", "\u{10000}", "\u{3FFFF}",
            "\u{40000}", "\u{100000}", "\u{10FFFF}",
        ])
    func bounds(_ text: String) throws {
        #expect(JSONString.sequenceLength(text.utf8.span, at: 0) == text.utf8.count)
        #expect(try PushMessage(json: "{\"a\":\"\(text)\"}").data["a"] == .string(text))
    }

    @Test("the validator agrees with Swift's own on every sequence of two bytes")
    func twoBytes() {
        for first in UInt8.min...UInt8.max {
            for second in UInt8.min...UInt8.max {
                let bytes = [first, second]
                let expected = String(validating: bytes, as: UTF8.self) != nil
                var offset = 0
                while offset < 2, let length = JSONString.sequenceLength(bytes.span, at: offset) { offset += length }
                #expect((offset == 2) == expected, "\(bytes)")
            }
        }
    }

    @Test(
        "decodes escapes",
        arguments: [
            (#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{C}\n\r\t"), (#"\u0041\u00e9\u20AC"#, "Aé€"),
            (#"\ud83d\ude00"#, "😀"), (#"\uD800\uDC00\uDBFF\uDFFF"#, "\u{10000}\u{10FFFF}"),
            (#"\u0000"#, "\u{0}"), (#"a\u0062c"#, "abc"), ("é\\nか", "é\nか"), (#"\\u0041"#, "\\u0041"), ("", ""),
            (#"\uFFFF\uFFFE"#, "\u{FFFF}\u{FFFE}"), (#"\ud83d\ude00\u0021"#, "😀!"),
        ])
    func unescaped(_ escaped: String, _ expected: String) throws {
        #expect(JSONString.unescaped(escaped.utf8.span, 0..<escaped.utf8.count) == Array(expected.utf8))
        let message = try PushMessage(json: "{\"k\":\"\(escaped)\",\"topic\":\"t\(escaped)\"}")
        #expect(message.data["k"] == .string(expected))
        #expect(message[.topic]?.utf8.elementsEqual("t\(expected)".utf8) == true)
    }

    @Test("finds the first special byte at every position", arguments: 0..<20)
    func plainEnd(_ place: Int) {
        for special: UInt8 in [0x22, 0x5C, 0x00, 0x1F, 0x80, 0xFF] {
            var bytes = [UInt8](repeating: 0x7F, count: 20)
            bytes[place] = special
            // What follows must not hide it, nor be taken for it.
            if place + 1 < bytes.count { bytes[place + 1] = special }
            #expect(JSONString.plainEnd(bytes.span, from: 0) == place)
            #expect(JSONString.plainEnd(bytes.span, from: place) == place)
        }
        let plain = [UInt8](repeating: 0x20, count: 20)
        #expect(JSONString.plainEnd(plain.span, from: place) == 20)
    }
}

struct JSONWriterTests {
    @Test("writes nil as null")
    func nulls() {
        var writer = JSONWriter()
        writer.array { writer in
            writer.string(nil)
            writer.integer(nil)
            writer.bool(nil)
            writer.integer(.min)
        }
        #expect(writer.text == "[null,null,null,-9223372036854775808]")
    }

    @Test("writes fractions, null for a number that is not finite, and lists of objects")
    func members() {
        let text = JSONWriter.object { writer in
            writer.member("a", 1.5)
            writer.member("b", Double.nan)
            writer.objects("c", [1, 2]) { $0.member("d", $1) }
        }
        #expect(text == #"{"a":1.5,"b":null,"c":[{"d":1},{"d":2}]}"#)
    }

    @Test(
        "escapes quotes, backslashes and control characters",
        arguments: [
            ("", #""""#), ("a\"b\\c/d", #""a\"b\\c/d""#), ("\n\r\t", #""\n\r\t""#),
            ("\u{0}\u{8}\u{1B}[31m\u{1F}", #""\u0000\u0008\u001b[31m\u001f""#),
            ("\u{7F}\u{80}\u{9B}\u{9F}\u{A0}", "\"\\u007f\\u0080\\u009b\\u009f\u{A0}\""),
            ("\u{2027}\u{2028}\u{2029}", "\"\u{2027}\\u2028\\u2029\""), ("é😀", "\"é😀\""), ("\r\n", #""\r\n""#),
        ])
    func quoted(_ text: String, _ expected: String) {
        #expect(text.quotedAsJSON == expected)
    }
}
