import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct JSONWriterTests {
    @Test("puts commas only between members and elements")
    func commas() {
        var writer = JSONWriter()
        writer.object { writer in
            writer.key("a")
            writer.array { writer in
                writer.integer(1)
                writer.array { _ in }
                writer.object { _ in }
                writer.null()
            }
            writer.key("b")
            writer.object { writer in
                writer.key("c")
                writer.bool(true)
                writer.key("d")
                writer.string("x")
            }
            writer.key("e")
            writer.bool(false)
        }
        #expect(writer.text == #"{"a":[1,[],{},null],"b":{"c":true,"d":"x"},"e":false}"#)
    }

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

    @Test(
        "written text reads back unchanged",
        arguments: [
            DataValue.string(""), .string("a\"\\/\u{0}\n\u{1F}\u{7F}\u{9B}\u{2028}é😀\u{10FFFF}"), .number("-0"),
            .number("1e3"),
            .number("9007199254740993"), .number("1.10"), .bool(true), .bool(false), .null, .array([]), .object([]),
            .array([.null, .array([.number("1")]), .object([("k", .string("v"))])]),
            .object([("", .null), ("\"\\\n", .bool(false)), ("é", .array([.object([])]))]),
        ])
    func roundTrip(_ value: DataValue) throws {
        var writer = JSONWriter()
        writer.value(value)
        #expect(DataValue(json: writer.text) == value)
        var payload = JSONWriter()
        payload.object { writer in
            writer.key("k\"\u{1}")
            writer.value(value)
        }
        #expect(try PushMessage(json: payload.text).data["k\"\u{1}"] == value)
    }

    @Test("every scalar up to U+2FFF, and some beyond, survive a round trip")
    func scalars() throws {
        var text = ""
        for value in UInt32(0)...0x2FFF { text.unicodeScalars.append(try #require(Unicode.Scalar(value))) }
        text += "\u{FEFF}\u{FFFD}\u{FFFF}\u{10000}\u{10FFFF}"
        #expect(DataValue(json: text.quotedAsJSON)?.string?.utf8.elementsEqual(text.utf8) == true)
    }
}
