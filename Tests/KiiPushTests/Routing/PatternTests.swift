import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct TextPatternTests {
    /// Asks a pattern for a text that lies among others, so that a look beyond its ends would show.
    private func matches(_ pattern: TextPattern, _ text: String) -> Bool {
        let bytes = Array("xx\(text)xx".utf8)
        return pattern.matches(bytes.span, 2..<(bytes.count - 2))
    }

    @Test(
        "a pattern matches the expected texts",
        arguments: [
            ("settings", "settings"), ("", ""), ("*", ""), ("*", "anything"), ("**", ""), ("**", "a"), ("***", "abc"),
            ("room-*", "room-"), ("room-*", "room-12"), ("*-room", "-room"), ("*-room", "big-room"),
            ("a*c", "ac"), ("a*c", "abc"), ("a*c", "abcbc"), ("a*b*c", "abc"), ("a*b*c", "aXbYc"), ("a**c", "abc"),
            ("*b*", "b"), ("*b*", "abc"), ("*aba*", "abaaba"), ("*ab*ab*", "abab"), ("a*ab", "aab"), ("*a*b", "aabab"),
            ("x*x", "xx"), ("*.*", "."), ("th.*", "th.1"), ("a?c", "a?c"), ("a.c", "a.c"), ("[a]", "[a]"),
            ("größe-*", "größe-1"), ("*ö*", "größe"), ("日*語", "日本語"), ("*👍", "ok 👍"), ("👍*👍", "👍👍"),
            ("*\u{301}", "e\u{301}"), ("a*\r\n", "a\r\n"),
        ] as [(String, String)])
    func taken(pattern: String, text: String) { #expect(matches(TextPattern(pattern), text)) }

    @Test(
        "a pattern does not match other texts",
        arguments: [
            ("settings", "setting"), ("settings", "settingss"), ("settings", "Settings"), ("settings", ""), ("", "a"),
            ("room-*", "room"), ("room-*", "aroom-1"), ("*-room", "room"), ("*-room", "a-rooms"),
            ("a*c", "a"), ("a*c", "c"), ("a*c", "abcd"), ("a*c", "bac"), ("a*a", "a"), ("ab*ba", "aba"),
            ("a*b*c", "acb"), ("*ab*ab*", "aba"), ("*b*", "ac"), ("a*bc*d", "abcbd "), ("a?c", "abc"), ("a.c", "abc"),
            ("日*語", "日本"), ("é", "e\u{301}"), ("e*", "é"), ("*e", "é"),
        ] as [(String, String)])
    func left(pattern: String, text: String) { #expect(!matches(TextPattern(pattern), text)) }

    @Test("an exact text may contain stars")
    func exactly() {
        #expect(matches(.exactly("a*c"), "a*c"))
        #expect(!matches(.exactly("a*c"), "abc"))
        #expect(matches(.exactly("*"), "*"))
        #expect(!matches(.exactly("*"), "a"))
    }

    @Test("a list takes what any of its patterns takes, also a list of lists")
    func lists() {
        let pattern: TextPattern = ["a", "b*", .exactly("*"), .anyOf(["c", ["d", "*e"]])]
        for text in ["a", "b", "bb", "*", "c", "d", "e", "fe"] { #expect(matches(pattern, text), "\(text)") }
        for text in ["aa", "x", "", "cd", "ef"] { #expect(!matches(pattern, text), "\(text)") }
        #expect(!matches([], ""), "an empty list takes nothing")
    }

    @Test(
        "stars agree with an exhaustive search", arguments: 0..<8)
    func property(seed: UInt64) {
        var source = SeededGenerator(seed: seed)
        for _ in 0..<2000 {
            let pattern = (0..<Int.random(in: 0...6, using: &source)).map { _ in
                "ab*".randomElement(using: &source) ?? "a"
            }
            let text = (0..<Int.random(in: 0...8, using: &source)).map { _ in "ab".randomElement(using: &source) ?? "a"
            }
            let found = matches(TextPattern(String(pattern)), String(text))
            #expect(
                found == Glob.matches(Array(String(pattern).utf8), Array(String(text).utf8)), "\(pattern) on \(text)")
        }
    }
}

struct ScopePatternTests {
    @Test("a scope that lacks its id is taken just by a pattern that leaves the id open")
    func missingID() throws {
        var fixture = PayloadFixture.pushToApp(scope: .user(KiiUser(id: "U-1")))
        fixture.fields[.scopeUserID] = nil
        let message = try PushMessage(fixture.payload(.long))
        let patterns: [(ScopePattern, takes: Bool)] = [(.user(nil), true), (.user(), false), (.user("U-1"), false)]
        for (pattern, takes) in patterns {
            let buffer = message.storage.buffer
            let found = pattern.matches(buffer.span, message.storage)
            #expect(found == takes, "\(pattern)")
        }
    }

    @Test("a sender pattern takes its kind of sender with an id that fits")
    func senders() throws {
        var admin = PayloadFixture.pushToUser(sender: nil)
        admin.fields[.senderURI] = "kiicloud://admins/APP_ADMIN"
        let fixtures: [PayloadFixture] = [
            .pushToUser(sender: "U-1"), .pushToUser(sender: "th.1"), admin, .pushToUser(sender: nil),
        ]
        let patterns: [(SenderPattern, [Bool])] = [
            (.user(), [true, false, false, false]), (.user("U-1"), [true, false, false, false]),
            (.user("th.1"), [false, false, false, false]), (.thing("th.*"), [false, true, false, false]),
            (.admin(), [false, false, true, false]), (.admin("OTHER"), [false, false, false, false]),
            ([.user("U-2"), .thing(), .admin("APP_*")], [false, true, true, false]),
            ([], [false, false, false, false]),
        ]
        for (pattern, expected) in patterns {
            let found = try fixtures.map { fixture in
                let message = try PushMessage(fixture.payload(.long))
                let buffer = message.storage.buffer
                return pattern.matches(buffer.span, message.storage.classified)
            }
            #expect(found == expected, "\(pattern)")
        }
    }
}
