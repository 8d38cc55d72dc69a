import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// What the random routes of the suite below do not show.
struct RouteTableTests {
    private func route(
        _ id: String, _ flow: RouteFlow = .stop, _ change: (inout RouteCriteria) -> Void = { _ in }
    ) -> Route {
        var criteria = RouteCriteria()
        change(&criteria)
        return Route(id, flow: flow, criteria: criteria)
    }

    private func ids(_ routes: [Route], _ fixture: PayloadFixture = .pushToApp()) throws -> [String] {
        try RouteTable(routes).match(PushMessage(fixture.payload(.long)).storage).routes.ids
    }

    @Test("after a route that continues the next ones are tried, up to the first that does not")
    func flows() throws {
        let routes = [
            route("a", .continue), route("b", .continue) { $0.bucket = "settings" },
            route("c", .continue) { $0.bucket = "other" }, route("d", .continue) { $0.object = "o-1" },
            route("e") { $0.sender = .user("U-sender") }, route("f"),
        ]
        #expect(try ids(routes) == ["a", "b", "d", "e"])
    }

    @Test("a route that lists one text twice takes a message once")
    func repeatedText() throws {
        let routes = [route("a", .continue) { $0.bucket = ["settings", "settings", "set*", .exactly("settings")] }]
        #expect(try ids(routes) == ["a"])
        #expect(try ids([route("a", .continue) { $0.bucket = ["settings", .exactly("settings")] }]) == ["a"])
    }

    @Test("an event with two names is taken by either, in code and in a rule, and by a star")
    func twoNames() throws {
        let names = ["DATA_OBJECT_BODY_UPDATED", "DATA_OBJECT_BODY_UPDATE"]
        let code = RouteCriteria(kind: .pushToApp, events: [.objectBodyUpdated])
        let routes = [
            Route("code", flow: .continue, criteria: code), route("star", .continue) { $0.events = "*_UPDATE" },
            route("one", .continue) { $0.events = .exactly(names[0]) },
            route("other", .continue) { $0.events = ["X", .exactly(names[1])] },
            route("updated", .continue) { $0.events = "DATA_OBJECT_UPDATED" },
        ]
        #expect(try ids(routes, .pushToApp(event: KiiEvent(names[0]))) == ["code", "one", "other"])
        #expect(try ids(routes, .pushToApp(event: KiiEvent(names[1]))) == ["code", "star", "one", "other"])
        #expect(try ids(routes) == ["updated"])
    }
}

/// The index against a plain scan of all routes, over random routes and messages.
struct RouteTablePropertyTests {
    @Test("the index finds exactly what a scan of all routes finds", arguments: 0..<40)
    func smallTables(seed: UInt64) throws {
        var source = RandomRouting(seed: seed)
        for _ in 0..<10 { try compare(routes: source.count(in: 0...40), messages: 25, &source) }
    }

    @Test("the index finds routes among thousands", arguments: 100..<103)
    func largeTables(seed: UInt64) throws {
        var source = RandomRouting(seed: seed)
        try compare(routes: 3000, messages: 60, &source)
    }

    private func compare(routes count: Int, messages: Int, _ source: inout RandomRouting) throws {
        let specs = (0..<count).map { _ in source.route() }
        let table = RouteTable(
            specs.enumerated().map { number, spec in
                Route("\(number)", flow: spec.flow, criteria: spec.criteria)
            })
        for _ in 0..<messages {
            let message = try PushMessage(source.payload())
            let found = table.match(message.storage)
            let expected = scan(specs, message)
            #expect(found.routes.ids == expected.ids.map(String.init))
            if expected.ids.isEmpty { #expect(found.isTooAmbiguous == expected.isTooAmbiguous) }
        }
    }

    private func scan(_ specs: [RouteSpec], _ message: PushMessage) -> (ids: [Int], isTooAmbiguous: Bool) {
        var ids: [Int] = []
        var isTooAmbiguous = false
        for (number, spec) in specs.enumerated() where spec.takes(message) {
            guard spec.certainty.contains(message.certainty) else {
                if message.certainty == .ambiguous { isTooAmbiguous = true }
                continue
            }
            ids.append(number)
            if spec.flow == .stop { break }
        }
        return (ids, isTooAmbiguous)
    }
}

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
