import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct JSONWriterTests {
    @Test("puts commas only between members and elements")
    func commas() throws {
        let text = #"{"a":[1,[],{},null],"b":{"c":true,"d":"x"},"e":false,"f":[]}"#
        var writer = JSONWriter()
        writer.value(try #require(DataValue(json: text)))
        #expect(writer.text == text)
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
}
