import Testing

@testable import KiiPush

struct Base64Tests {
    private static func decode(_ text: String, base: Int = 0) throws(DecodeError) -> [UInt8] {
        try Base64.decode(text.utf8.span, base: base)
    }

    @Test(
        "the vectors of RFC 4648, both ways",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ])
    func vectors(plain: String, encoded: String) throws {
        #expect(Base64.encode(Array(plain.utf8)) == encoded)
        #expect(try Self.decode(encoded) == Array(plain.utf8))
    }

    @Test("round-trips every byte at every position")
    func allBytes() throws {
        for shift in 0..<3 {
            let bytes = [UInt8](repeating: 7, count: shift) + Array(0...255)
            #expect(try Self.decode(Base64.encode(bytes)) == bytes)
        }
        // Together these use all 64 signs.
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        #expect(try Base64.encode(Self.decode(alphabet)) == alphabet)
    }

    @Test(
        "accepts white space anywhere",
        arguments: [" Zm8=", "Z m\t8\r\n=", "Zm8=\n", "Zm8\u{0B}=\u{0C}"])
    func whiteSpace(text: String) throws {
        #expect(try Self.decode(text) == Array("fo".utf8))
        #expect(try Self.decode("Zg= =") == Array("f".utf8))
        #expect(try Self.decode(" \n") == [])
    }

    static let foreign = "this character has no place in Base64"
    static let leftOver = "Base64 ends with bits that belong to no byte"
    static func groups(_ digits: Int, _ padding: Int) -> String {
        "Base64 comes in groups of four characters; this text has \(digits), and \(padding) of padding"
    }

    private static let foreignCharacters = [
        "Zm↓-v", "Zm↓_v", "Zm9↓*", "↓.m9v", "Zm9↓&", "Zm9↓\u{0}", "Zm9↓é", "Zm9↓\u{7F}", "↓@@@@", "↓[[[[", "↓````",
        "↓{{{{", "↓::::", "↓,,,,",
        // Nothing but padding may follow padding.
        "Zg==↓Zg==", "Zm8=↓Z", "Zg=↓Z", "=↓Z",
    ]
    private static let incompleteGroups = [
        "Z", "Zg", "Zm8", "Zm9vY", "Zg=", "Zm8==", "Zm9v=", "Zm9v==", "Zm9v====", "Z===", "=", "==", "===", "====",
    ]
    private static let refusals: [(marked: String, detail: String)] =
        foreignCharacters.map { ($0, foreign) }
        + incompleteGroups.map { ("\($0)↓", groups($0.count { $0 != "=" }, $0.count { $0 == "=" })) }
        + ["Zh==↓", "Zm9=↓", "ZmA/Zj==↓"].map { ($0, leftOver) }

    @Test(
        "refuses a foreign character where it is, and an incomplete group or left-over bits at the end",
        arguments: refusals)
    func refused(marked: String, detail: String) {
        let halves = marked.split(separator: "↓", omittingEmptySubsequences: false).map(String.init)
        let error = #expect(throws: DecodeError.self) { try Self.decode(halves.joined(), base: 100) }
        #expect(error == DecodeError(.badEncoding, at: 100 + halves[0].utf8.count, detail))
    }
}

struct FormTextTests {
    @Test(
        "escapes are read as forms write them",
        arguments: [
            ("", ""), ("plain-text_1.0", "plain-text_1.0"), ("a b", "a+b"), ("a+b", "a%2Bb"), ("100%", "100%25"),
            ("I love M&M's! Especially red one!", "I+love+M%26M%27s%21+Especially+red+one%21"),
            ("k=v&k=v", "k%3Dv%26k%3Dv"), ("\n\t\u{0}", "%0A%09%00"), ("é€😀", "%C3%A9%E2%82%AC%F0%9F%98%80"),
            ("azAZ09~*", "azAZ09%7E%2A"),
        ])
    func decoded(plain: String, escaped: String) { #expect(FormText.decode(escaped) == plain) }

    @Test(
        "keeps text that begins no escape",
        arguments: [
            ("%", "%"), ("100%", "100%"), ("%4", "%4"), ("%g1", "%g1"), ("%1g", "%1g"), ("50% off", "50% off"),
            ("%%41", "%A"), ("é%41", "éA"), ("%e2%82%ac", "€"), ("%٤٢", "%٤٢"),
        ])
    func leniently(escaped: String, plain: String) {
        #expect(FormText.decode(escaped) == plain)
        let place = Array(plain.utf8).firstIndex(of: UInt8(ascii: "%"))
        #expect(FormText.firstIncomplete(Array(escaped.utf8)) == place)
    }

    @Test("escapes of invalid UTF-8 are not text", arguments: ["%FF", "a%C3", "%80b", "%ED%A0%80", "%C0%80"])
    func notUTF8(escaped: String) {
        #expect(FormText.decode(escaped) == nil)
    }
}
