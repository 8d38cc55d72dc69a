import Testing

@testable import KiiPush

struct FormTextTests {
    @Test(
        "text is escaped as forms do it, and comes back",
        arguments: [
            ("", ""), ("plain-text_1.0", "plain-text_1.0"), ("a b", "a+b"), ("a+b", "a%2Bb"), ("100%", "100%25"),
            ("I love M&M's! Especially red one!", "I+love+M%26M%27s%21+Especially+red+one%21"),
            ("k=v&k=v", "k%3Dv%26k%3Dv"), ("\n\t\u{0}", "%0A%09%00"), ("é€😀", "%C3%A9%E2%82%AC%F0%9F%98%80"),
            ("azAZ09~*", "azAZ09%7E%2A"),
        ])
    func bothWays(plain: String, escaped: String) {
        #expect(FormText.encode(plain) == escaped)
        #expect(FormText.decode(escaped) == plain)
    }

    @Test(
        "keeps text that begins no escape",
        arguments: [
            ("%", "%"), ("100%", "100%"), ("%4", "%4"), ("%g1", "%g1"), ("%1g", "%1g"), ("50% off", "50% off"),
            ("%%41", "%A"), ("é%41", "éA"), ("%e2%82%ac", "€"), ("%٤٢", "%٤٢"),
        ])
    func leniently(escaped: String, plain: String) {
        #expect(FormText.decode(escaped) == plain)
    }

    @Test("escapes of invalid UTF-8 are not text", arguments: ["%FF", "a%C3", "%80b", "%ED%A0%80", "%C0%80"])
    func notUTF8(escaped: String) {
        #expect(FormText.decode(escaped) == nil)
    }
}
