import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushRules
@testable import KiiPushTestSupport

/// The key `maxAge` of a rules file: read, linted, and judged in the file's own tests.
struct RuleAgeTests {
    private static func file(_ rules: String, settings: String = "", tests: String = "[]") -> String {
        "{\"version\":1,\(settings)\"rules\":[\(rules)],\"tests\":\(tests)}"
    }

    private static func rule(_ id: String, _ delivery: String?, _ rest: String = "") -> String {
        let delivery = delivery.map { ",\"delivery\":\($0)" } ?? ""
        return #"{"id":"\#(id)","when":{"topic":"*"},"then":{"handler":"\#(id)"}\#(delivery)\#(rest)}"#
    }

    @Test("a rule has its own limit, the file's, or with false none")
    func inherited() throws {
        let rules = try RoutingRules(
            Self.file(
                [
                    Self.rule("file", nil), Self.rule("alsoFile", #"{"attempts":2}"#),
                    Self.rule("own", #"{"maxAge":"30s"}"#),
                    Self.rule("any", #"{"maxAge":false}"#),
                ].joined(separator: ","), settings: #""delivery":{"maxAge":"1.5h"},"#))
        #expect(rules.delivery.maxAge == .seconds(5400))
        #expect(rules.rules.map { rules.maxAge(of: $0) } == [.seconds(5400), .seconds(5400), .seconds(30), nil])
        let receiver = PushReceiver(rules: rules)
        for rule in rules.rules { receiver.register(rule.id) { _, _ in } }
        try receiver.load(rules)
        #expect(receiver.routes.map(\.maxAge) == [.seconds(5400), .seconds(5400), .seconds(30), nil])
    }

    // MARK: Lint

    @Test("warns of a limit that leaves no time for a second attempt")
    func neverRetried() throws {
        let rules = [
            Self.rule("a", #"{"maxAge":"10s","backoff":"20s"}"#, #","continue":true"#),
            Self.rule("b", #"{"maxAge":"16s","backoff":"20s"}"#, #","continue":true"#),
            Self.rule("c", #"{"maxAge":"10s","backoff":"20s","attempts":1}"#, #","continue":true"#),
            Self.rule("d", #"{"maxAge":"10s"}"#),
        ]
        let findings = try RoutingRules(Self.file(rules.joined(separator: ",\n"))).lint()
        #expect(findings.map { "\($0.position) \($0.code.rawValue) \($0.rule ?? "-")" } == ["1:88 neverRetried a"])
        #expect(
            findings.first?.what
                == "a message of the rule 'a' that fails is never tried again: the first pause is at least 16s, and by then it is older than the 'maxAge' of 10s; lower 'backoff', raise 'maxAge', or say \"attempts\": 1"
        )
        let file = Self.file(rules[3], settings: #""delivery":{"maxAge":"100ms"},"#)
        #expect(try RoutingRules(file).lint().map { "\($0.position) \($0.code.rawValue)" } == ["1:25 neverRetried"])
    }

    // MARK: Tests of the file

    /// Runs a file's tests, which have one rule with a limit of 30 s and one behind it without.
    private static func run(_ tests: String) async throws -> [String] {
        let rules = try RoutingRules(
            file(
                [
                    rule("door", #"{"maxAge":"30s"}"#, #","continue":true"#),
                    #"{"id":"log","when":{"topic":"log"},"then":{"print":true}}"#,
                ]
                .joined(separator: ","), tests: tests), file: "r.json")
        var failures: [String] = []
        for test in try RuleSuite(rules) {
            do { try await test.run() } catch let error as RuleCaseFailed { failures += error.failures.map(\.what) }
        }
        return failures
    }

    private static func step(_ at: String, _ when: Int?, _ expect: String, topic: String = "door") -> String {
        let when = when.map { ",\"when\":\($0)" } ?? ""
        return #"{"at":"\#(at)","payload":{"topic":"\#(topic)","objectScopeType":"APP"\#(when)},"expect":\#(expect)}"#
    }

    @Test("a test says what date it is at 0 s, or its first message with a date does")
    func dates() async throws {
        let expired = #"{"outcome":"expired","rules":["door"],"handlers":[]}"#
        let handled = #"{"outcome":"handled","handlers":["door"]}"#
        let first = 1_700_000_000_000
        let tests = [
            #"{"name":"now","now":\#(first + 60_000),"steps":[\#(Self.step("0s", first, expired)),"#
                + Self.step("0s", first + 31_000, handled) + "," + Self.step("1s", first + 30_000, expired) + "]}",
            #"{"name":"anchor","steps":[\#(Self.step("5s", nil, handled)),\#(Self.step("10s", first, handled)),"#
                + Self.step("39s", first + 1, handled) + "," + Self.step("2m", first + 2, expired) + ","
                + Self.step("2m", first + 110_000, handled) + "]}",
            #"{"name":"one of two","now":\#(first + 60_000),"steps":["#
                + Self.step(
                    "0s", first, #"{"outcome":"handled","rules":["door","log"],"handlers":["log"]}"#, topic: "log")
                + "]}",
            #"{"name":"without a date","steps":[\#(Self.step("0s", nil, handled)),\#(Self.step("1h", nil, handled))]}"#,
        ]
        #expect(try await Self.run("[\(tests.joined(separator: ","))]") == [])
        let wrong = #"[{"name":"wrong","now":\#(first),"steps":[\#(Self.step("1m", first, handled))]}]"#
        #expect(
            try await Self.run(wrong) == [
                #"outcome: expected "handled", found "expired""#, #"handlers: expected ["door"], found []"#,
            ])
    }

    @Test("coverage counts what has expired, in files where something can")
    func coverage() async throws {
        for (delivery, names) in [
            (#"{"maxAge":"30s"}"#, ["1 handled", "1 expired"]), (#"{"maxAge":false}"#, ["2 handled"]),
        ] {
            let rules = try RoutingRules(
                Self.file(
                    Self.rule("door", delivery),
                    tests: #"[{"name":"t","steps":[\#(Self.step("0s", 1, "{}")),\#(Self.step("1m", 2, "{}"))]}]"#))
            let coverage = try await rules.coverage()
            #expect(coverage.outcomes.filter { $0.messages > 0 }.map { "\($0.messages) \($0.name)" } == names)
            #expect(coverage.outcomes.contains { $0.name == "expired" } == (names.count == 2))
        }
    }
}

/// Rules that name their messages by a field of the data.
struct RulesDedupeTests {
    private static func file(_ dedupe: String) -> String {
        "{\"version\":1,\"rules\":[\n{\"id\":\"r\",\"then\":{\"handler\":\"h\"},\"dedupe\":\(dedupe)}]}"
    }

    @Test("the text after 'data.' is the key, byte for byte")
    func key() throws {
        for key in ["messageId", "a.b", "data.a", "\u{301}x", " "] {
            let rule = try RoutingRules(Self.file("{\"by\":\"data.\(key)\"}")).rules[0]
            #expect(rule.options.dedupe.map { Array($0.key.utf8) } == Array(key.utf8))
            #expect(rule.options.dedupe?.field == "data.\(key)")
        }
        #expect(try RoutingRules(Self.file(#"{"by":"data.a"}"#)).rules[0].dedupePosition?.description == "2:49")
    }

    @Test("the file's own tests see that one id is one message, and that a message without one has automatic keys")
    func ownTests() async throws {
        func step(_ at: Int, _ data: String, _ outcome: String) -> String {
            let payload = #"{"topic":"orders","objectScopeType":"APP","sender":"U1"\#(data)}"#
            return #"{"at":"\#(at)s","payload":\#(payload),"expect":{"outcome":"\#(outcome)"}}"#
        }
        let steps = [
            step(0, #","id":"1","when":1"#, "handled"), step(1, #","id":1,"when":2,"x":3"#, "duplicate"),
            step(2, #","id":"2","when":1"#, "handled"), step(3, #","when":7"#, "handled"),
            step(4, #","when":7"#, "duplicate"), step(5, #","id":"""#, "handled"), step(11, #","id":"""#, "handled"),
            step(500, #","id":"2""#, "duplicate"),
        ]
        let text = """
            {"version":1,"rules":[{"id":"orders","when":{"topic":"orders"},"then":{"handler":"h"},
             "dedupe":{"by":"data.id"}}],
             "tests":[{"name":"orders","steps":[\(steps.joined(separator: ",\n"))]}]}
            """
        for test in try RuleSuite(RoutingRules(text, file: "r.json")) { try await test.run() }
    }

    @Test("rules that are loaded again name the same message by the same id, also when others are before them")
    func loadedAgain() async throws {
        func rules(_ before: String) throws -> RoutingRules {
            try RoutingRules(
                #"{"version":1,"rules":[\#(before){"id":"r","then":{"handler":"h"},"dedupe":{"by":"data.id"}}]}"#)
        }
        let receiver = PushReceiver(rules: try rules(""))
        receiver.register("h") { _, _ in }
        try receiver.load(try rules(""))
        func send(_ sentAt: Int64) async -> String {
            let data: [(String, DataValue)] = [("id", .string("1"))]
            return await "\(receiver.receive(PayloadFixture.pushToUser(sentAt: sentAt, data: data).payload(.long)))"
        }
        #expect(await send(1) == "handled")
        try receiver.load(try rules(#"{"id":"first","when":{"topic":"x"},"then":{"handler":"h"}},"#))
        #expect(await send(2) == "duplicate (done)")
    }
}
