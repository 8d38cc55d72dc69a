import KiiPush
import Testing

@testable import KiiPushRules
@testable import KiiPushTestSupport

/// Rules that earlier ones leave nothing to take.
struct LintShadowTests {
    /// Earlier rules, a later one, and whether that gets nothing.
    @Test(
        "a rule is shadowed by an earlier one that takes all of its messages",
        arguments: [
            ([#"{}"#], #"{"bucket":"b"}"#, true),
            ([#"{"kind":["pushToApp","pushToUser","directPush"]}"#], #"{"topic":"t"}"#, true),
            ([#"{"certainty":["certain","likely","ambiguous"]}"#], #"{"certainty":"ambiguous"}"#, true),
            ([#"{"certainty":"certain"}"#], #"{"bucket":"b","certainty":"certain"}"#, true),
            ([#"{"bucket":"b"}"#], #"{"bucket":"b"}"#, true),
            ([#"{"bucket":"a"}"#, #"{"object":"o*","bucket":"b"}"#], #"{"bucket":"b","object":"o*"}"#, true),
            ([#"{"data":{"n":{"greater":1}}}"#], #"{"data":{"n":{"greater":1}}}"#, true),
            ([#"{"topic":"t"}"#], #"{"topic":["t","t"]}"#, true),
            ([#"{"topic":["t","u"]}"#], #"{"topic":"u","sender":"user:U1"}"#, true),
            ([#"{"topic":"alert-*"}"#], #"{"topic":"alert-fire"}"#, true),
            ([#"{"kind":"pushToUser"}"#], #"{"topic":"t"}"#, true),
            ([#"{"scope":"user:*"}"#], #"{"scope":"user:U1"}"#, true),
            ([#"{"data":{"n":1,"m":2}}"#], #"{"data":{"m":2,"n":1}}"#, true),
            ([#"{"events":"DATA_*"}"#], #"{"bucket":"b","events":"DATA_OBJECT_CREATED"}"#, true),
            ([#"{"any":[{"topic":"t"}]}"#], #"{"topic":"t","any":[{"topic":"t"}]}"#, true),
            ([#"{"topic":"t"}"#], #"{"topic":"t","not":{"data":{"n":1}}}"#, true),
            ([#"{"topic":"t","not":{"data":{"n":1}}}"#], #"{"not":{"data":{"n":1}},"topic":"t"}"#, true),
            ([#"{}"#], #"{"any":[{"topic":"t"},{"bucket":"b"}]}"#, true),
            // And nearly, but not quite.
            ([#"{"topic":"t","any":[{"data":{"n":1}},{"data":{"n":2}}]}"#], #"{"topic":"t","data":{"n":1}}"#, false),
            ([#"{"topic":"t","not":{"data":{"n":1}}}"#], #"{"topic":"t"}"#, false),
            ([#"{"not":{"topic":"t"}}"#], #"{"topic":"u"}"#, false),
            ([#"{"topic":"t","not":{"data":{"n":1}}}"#], #"{"not":{"data":{"n":1.0}},"topic":"t"}"#, false),
            ([#"{"data":{"n":"21"}}"#], #"{"data":{"n":21}}"#, false),
            ([#"{"data":{"n":{"not":21}}}"#], #"{"data":{"n":21.0}}"#, false),
            ([#"{"bucket":"b"}"#], #"{"bucket":"b*"}"#, false),
            ([#"{"kind":"pushToApp"}"#], #"{"bucket":"x","certainty":"ambiguous"}"#, false),
            ([#"{"scope":"user:*"}"#], #"{"scope":"APP_AND_USER"}"#, false),
            ([#"{"transport":"*"}"#], #"{}"#, false), ([#"{"scope":"*"}"#], #"{}"#, false),
            ([#"{"certainty":"certain"}"#], #"{}"#, false),
            ([#"{"data":{"n":{"greater":2}}}"#], #"{"data":{"n":{"greater":1}}}"#, false),
            ([#"{"data":{"n":"caf\u00e9"}}"#], #"{"data":{"n":"cafe\u0301"}}"#, false),
            ([#"{"bucket":"b","topic":"t"}"#], #"{"bucket":"b"}"#, false),
            ([#"{"topic":"t"}"#], #"{"topic":["t","u"]}"#, false),
            ([#"{"scopeID":"U1"}"#], #"{"scope":["user:U1","user:U2"]}"#, false),
            ([#"{"command":"**"}"#], #"{"command":"*"}"#, false),
        ])
    func shadows(earlier: [String], later: String, isShadowed: Bool) throws {
        let rules = earlier.enumerated().map { LintSamples.rule("e\($0.offset)", $0.element) }
        let text = LintSamples.file(rules + [LintSamples.rule("late", later)])
        let parsed = try RoutingRules(text)
        let found = parsed.lint().filter { $0.rule == "late" && $0.code == .shadowed }
        #expect(found.map(\.position.line) == (isShadowed ? [3 + earlier.count] : []))
        let receiver = PushReceiver()
        try receiver.loadStandIns(parsed)
        #expect(receiver.shadowedRoutes.map(\.id) == (isShadowed ? ["late"] : []))
        // With "continue" the earlier ones take nothing away.
        let open = earlier.enumerated().map { LintSamples.rule("e\($0.offset)", $0.element, #""continue":true"#) }
        let same = try RoutingRules(LintSamples.file(open + [LintSamples.rule("late", later)])).lint()
        #expect(!same.contains { $0.code == .shadowed })
    }

    @Test("a route in code is shadowed by rules, and a rule by routes in code")
    func shadowsCode() throws {
        let receiver = PushReceiver()
        receiver.onPushToUser(id: "all", options: .continue) { (_: PushToUserMessage, _) in }
        receiver.onPushToApp(id: "settings", bucket: "settings") { (_: BucketEvent, _) in }
        let rules = [
            LintSamples.rule("one", #"{"bucket":"settings","object":"o"}"#), LintSamples.rule("t", #"{"topic":"t"}"#),
        ]
        try receiver.loadStandIns(try RoutingRules(LintSamples.file(rules)))
        receiver.onPushToUser(id: "late", topic: "t") { _, _ in }
        receiver.onAny(id: "rest") { _, _ in }
        #expect(receiver.shadowedRoutes.map { "\($0.id) \($0.behind)" } == ["one settings", "late t"])
    }

    @Test("rules that are the same but for their ids are found behind one that continues")
    func same() throws {
        let text = LintSamples.file([
            LintSamples.rule("a", #"{"bucket":"x"}"#, #""continue":true"#), LintSamples.rule("b", #"{"bucket":"x"}"#),
            #"{"id":"c","when":{"bucket":"z"},"then":{"print":true},"continue":true}"#,
            LintSamples.rule("d", #"{"bucket":"z"}"#),
        ])
        #expect(try LintSamples.findings(text) == ["4:1 sameRule"])
    }
}

/// What the lint says of rules that name their messages by a field of the data.
struct LintDedupeTests {
    private static let by = #""dedupe":{"by":"data.id"}"#

    @Test(
        "a field that never names a message is a warning at its place",
        arguments: [
            (#"{"bucket":"b"}"#, by, ["3:71 dataOfPushToApp"]),
            (#"{"certainty":"ambiguous"}"#, by, ["3:82 unusedID"]),
            (#"{"data":{"id":{"exists":false}}}"#, by, ["3:89 unusedID"]),
            (#"{"topic":"t"}"#, #""dedupe":{"by":"data.aps"}"#, ["3:70 unusedID"]),
            (#"{"topic":"t"}"#, #""dedupe":{"by":"data._kl"}"#, ["3:70 unusedID"]),
            (#"{"topic":"t"}"#, by, []), (#"{}"#, by, []), (#"{"kind":"directPush"}"#, by, []),
            (#"{"data":{"id":{"exists":true}}}"#, by, []), (#"{"data":{"id":"a*","n":{"exists":false}}}"#, by, []),
        ])
    func never(when: String, dedupe: String, expected: [String]) throws {
        let text = LintSamples.file([LintSamples.rule("r", when, dedupe)])
        #expect(try LintSamples.findings(text) == expected)
        #expect(try RoutingRules(text).lint().allSatisfy { $0.severity == .warning })
    }

    @Test("a rule whose messages an earlier one always names first is told so")
    func namedBefore() throws {
        func findings(_ first: String) throws -> [String] {
            let file = LintSamples.file([
                LintSamples.rule("first", first, #""continue":true"#),
                LintSamples.rule("second", #"{"topic":"orders"}"#, Self.by),
            ])
            return try LintSamples.findings(file)
        }
        #expect(try findings(#"{"topic":"orders"}"#) == ["4:1 sameRule", "4:80 unusedID"])
        #expect(try findings("{}") == ["4:1 sameRule", "4:80 unusedID"])
        #expect(try findings(#"{"topic":"orders","data":{"id":"1"}}"#) == [])
        #expect(try findings(#"{"topic":"news"}"#) == [])
    }
}

/// What the lint says of combined and nested conditions, and what it must not say.
struct LintCombinedTests {
    private static func findings(_ rules: [String]) throws -> [String] {
        try RoutingRules(LintSamples.file(rules), file: "r.json").lint().filter { $0.code != .unreachableHandler }
            .map { "\($0.rule ?? "") \($0.code.rawValue)" }
    }

    @Test(
        "a part that no message meets is found",
        arguments: [
            (#"{"kind":"pushToApp","any":[{"topic":"t"},{"bucket":"b"}]}"#, ["r neverHolds"]),
            (#"{"topic":"t","all":[{"data":{"n":{"equals":1,"greater":2}}}]}"#, ["r neverHolds", "r neverMatches"]),
            (#"{"topic":"t","any":[{"not":{"data":{"n":[{"exists":true},{"exists":false}]}}}]}"#, ["r alwaysHolds"]),
            (#"{"kind":"pushToUser","not":{"bucket":"b"}}"#, ["r alwaysHolds"]),
            (#"{"kind":"pushToUser","any":[{"kind":"pushToApp"},{"topic":"t"}]}"#, ["r neverHolds"]),
            (#"{"topic":"a","all":[{"topic":"b"}]}"#, ["r neverHolds", "r neverMatches"]),
            (#"{"topic":"a","any":[{"topic":"b"},{"data":{"n":1}}]}"#, ["r neverHolds"]),
            (#"{"topic":"t","not":{"topic":"t"}}"#, ["r neverMatches"]),
            (#"{"topic":"t","data":{"n":1},"not":{"data":{"n":1}}}"#, ["r neverMatches"]),
            (#"{"transport":"mqtt","any":[{"transport":"fcm"},{"topic":"t"}]}"#, ["r neverHolds"]),
            (#"{"any":[{"kind":"pushToApp","events":"DATA_OBJECT_UPDATE"},{"topic":"t"}]}"#, ["r unknownEvent"]),
            (#"{"any":[{"topic":"a*"},{"topic":"t?"}]}"#, ["r impossibleName"]),
            (#"{"topic":"t","data":{"temp.value":1}}"#, ["r dottedKey"]),
            (#"{"topic":"t","any":[{"data":{"data.temp":1}}]}"#, ["r dottedKey"]),
            (#"{"topic":"t","data":{"/aps/badge":1}}"#, ["r neverMatches"]),
        ])
    func found(when: String, expected: [String]) throws {
        #expect(Set(try Self.findings([LintSamples.rule("r", when)])) == Set(expected))
    }

    @Test(
        "what some message meets is not reported",
        arguments: [
            #"{"any":[{"topic":"t"},{"bucket":"b"}]}"#, #"{"topic":"t","not":{"data":{"n":1}}}"#,
            #"{"topic":["a","b"],"not":{"topic":"a"}}"#, #"{"topic":["a","b"],"all":[{"topic":"b"}]}"#,
            #"{"topic":"t","any":[{"data":{"/a/b":1}},{"not":{"sender":"thing:th.1"}}]}"#,
            #"{"topic":"t","all":[{"any":[{"data":{"n":1}}]},{"any":[{"data":{"m":1}}]}]}"#,
            #"{"command":"a","all":[{"command":"b"}]}"#, #"{"events":"a","not":{"events":"b"}}"#,
            #"{"topic":"t","data":{"/a/*":{"not":{"exists":true}}}}"#, #"{"topic":"t","data":{"/a.b/c":1}}"#,
        ])
    func fine(when: String) throws {
        #expect(try Self.findings([LintSamples.rule("r", when)]) == [])
    }

    @Test("a rule whose parts never hold calls no handler")
    func dead() throws {
        let rule = LintSamples.rule("r", #"{"kind":"pushToUser","any":[{"bucket":"b"},{"object":"o"}]}"#)
        let codes = try RoutingRules(LintSamples.file([rule])).lint(handlers: nil).map(\.code)
        #expect(codes.count { $0 == .neverHolds } == 2 && codes.count { $0 == .neverMatches } == 1)
    }

    @Test(
        "a value that a combined condition requires is there",
        arguments: [
            (#""all":[{"data":{"n":{"exists":true}}}]"#, true),
            (#""any":[{"data":{"n":1}},{"data":{"/n/a":2}}]"#, true),
            (#""any":[{"data":{"n":1}},{"data":{"m":2}}]"#, false), (#""not":{"data":{"n":1}}"#, false),
            (#""data":{"/n/0":{"exists":true}}"#, true), (#""data":{"/n/0":{"exists":false}}"#, false),
        ])
    func filled(condition: String, isThere: Bool) throws {
        let rule = #"""
            {"id":"r","when":{"topic":"t",\#(condition)},
             "then":{"write":{"object":"kiicloud://buckets/b/objects/o","fields":{"n":"${data.n}"}}}}
            """#
        #expect(try Self.findings([rule]).contains("r missingValue") == !isThere)
    }
}

/// Rules files for the lint, each line of which is one rule.
enum LintSamples {
    /// A file whose third line is the first rule; settings go before, tests behind.
    static func file(_ rules: [String], settings: String = "", tests: String = "[]") -> String {
        "{\"version\": 1,\(settings)\n\"rules\": [\n\(rules.joined(separator: ",\n"))\n],\n\"tests\": \(tests)}"
    }

    /// A rule that calls the handler `h`.
    static func rule(_ id: String, _ when: String, _ rest: String = "") -> String {
        #"{"id":"\#(id)","when":\#(when),"then":{"handler":"h"}\#(rest.isEmpty ? "" : "," + rest)}"#
    }

    /// A rule with the conditions of a route, which calls the handler `h`.
    static func rule(_ route: Route) -> String {
        var writer = JSONWriter()
        route.criteria.write(to: &writer)
        return rule(route.id, writer.text, route.options.flow == .continue ? #""continue":true"# : "")
    }

    /// What is found, each as `line:column code`.
    static func findings(_ text: String, handlers: [String]? = nil) throws -> [String] {
        try RoutingRules(text, file: "r.json").lint(handlers: handlers).map { "\($0.position) \($0.code.rawValue)" }
    }
}

/// Rules that feed themselves or each other through what they write.
struct LintCycleTests {
    @Test(
        "a rule that takes what it writes is found at the write",
        arguments: [
            (#"{"bucket":"b"}"#, "kiicloud://buckets/b", true),
            (#"{"bucket":"b"}"#, "kiicloud://buckets/b/objects/o", true),
            (#"{"bucket":"b","object":"o"}"#, "kiicloud://buckets/b", true), (#"{}"#, "kiicloud://topics/t", true),
            (#"{"scope":"user:U1"}"#, "kiicloud://users/U1/buckets/b", true),
            (#"{"topic":"t","data":{"n":1}}"#, "kiicloud://topics/t", true),
            (#"{"bucket":"b","data":{"n":{"exists":false}}}"#, "kiicloud://buckets/b", true),
            (#"{"bucket":"b"}"#, "kiicloud://buckets/c", false), (#"{"bucket":"b"}"#, "kiicloud://topics/b", false),
            (#"{"bucket":"b","object":"o"}"#, "kiicloud://buckets/b/objects/p", false),
            (#"{"bucket":"b","scope":"APP"}"#, "kiicloud://users/U1/buckets/b", false),
            (#"{"bucket":"b","scope":"user:U2"}"#, "kiicloud://users/U1/buckets/b", false),
            (#"{"topic":"t","certainty":"ambiguous"}"#, "kiicloud://topics/t", false),
        ])
    func selfFeeding(when: String, target: String, feeds: Bool) throws {
        let writes = #""writes":["kiicloud://buckets/elsewhere","\#(target)"]"#
        let rule = LintSamples.rule("r", when, writes)
        let found = try RoutingRules(LintSamples.file([rule])).lint().filter { $0.code == .feedsItself }
        // What is said twice of `elsewhere`, which only the rule without conditions takes, is said once.
        let first = when == "{}" ? "kiicloud://buckets/elsewhere" : target
        let column = try #require(Array(rule.utf8).firstRange(of: Array("\"\(first)\"".utf8))?.lowerBound) + 1
        #expect(found.map(\.position) == (feeds ? [SourcePosition(line: 3, column: column)] : []))
    }

    @Test("reports a cycle rule by rule, with the writes and the positions")
    func cycle() throws {
        let text = LintSamples.file([
            LintSamples.rule("a", #"{"bucket":"a"}"#, #""writes":["kiicloud://buckets/b"]"#),
            LintSamples.rule("b", #"{"bucket":"b"}"#, #""writes":["kiicloud://topics/c"]"#),
            LintSamples.rule("c", #"{"topic":"c"}"#, #""writes":["kiicloud://buckets/a/objects/o"]"#),
            LintSamples.rule("d", #"{"topic":"d"}"#, #""writes":["kiicloud://buckets/a"]"#),
        ])
        let findings = try RoutingRules(text).lint()
        let finding = try #require(findings.first)
        #expect(findings.count == 1 && finding.code == .cycle && finding.position.line == 3)
        #expect(finding.related.map(\.position.line) == [3, 4, 5])
        #expect(
            finding.what == "rules that feed each other: 'a' (3:1) writes kiicloud://buckets/b, which 'b' (4:1) takes; "
                + "'b' (4:1) writes kiicloud://topics/c, which 'c' (5:1) takes; "
                + "'c' (5:1) writes kiicloud://buckets/a/objects/o, which 'a' (3:1) takes: each message would "
                + "cause the next; break the loop, or have the handlers announce their writes")
    }

    @Test("where every pace is unlimited a cycle is an error; where one is not it is a warning")
    func unguarded() throws {
        func codes(_ first: String, _ second: String) throws -> [RuleFinding.Code] {
            try RoutingRules(
                LintSamples.file([
                    LintSamples.rule("a", #"{"bucket":"a"}"#, #""writes":["kiicloud://buckets/b"]\#(first)"#),
                    LintSamples.rule("b", #"{"bucket":"b"}"#, #""writes":["kiicloud://buckets/a"]\#(second)"#),
                ])
            ).lint().map(\.code)
        }
        let off = #","pace":"unlimited""#
        #expect(try codes("", "") == [.cycle])
        #expect(try codes(off, "") == [.cycle])
        #expect(try codes(off, off) == [.unguardedCycle])
        let alone = LintSamples.rule("a", #"{"bucket":"a"}"#, #""writes":["kiicloud://buckets/a"]\#(off)"#)
        #expect(try RoutingRules(LintSamples.file([alone])).lint().map(\.code) == [.unguardedCycle])
    }

    @Test("a write feeds nothing if an earlier rule takes it, the app differs, or the guard drops it")
    func cut() throws {
        let rule = LintSamples.rule("r", #"{"bucket":"b"}"#, #""writes":["kiicloud://buckets/b/objects/o"]"#)
        let taken = [LintSamples.rule("e", #"{"bucket":"b","object":"o"}"#), rule]
        #expect(try RoutingRules(LintSamples.file(taken)).feeds.map(\.to) == [0])
        #expect(try LintSamples.findings(LintSamples.file(taken)) == [])

        let other = LintSamples.rule("r", #"{"bucket":"b"}"#, #""writes":["kiicloud://other/buckets/b"]"#)
        #expect(try LintSamples.findings(LintSamples.file([other], settings: #""app":"mine","#)) == ["3:66 otherApp"])

        let asking = LintSamples.rule("r", #"{"bucket":"b","sender":"*"}"#, #""writes":["kiicloud://buckets/b"]"#)
        func findings(_ settings: String) throws -> Int {
            try LintSamples.findings(LintSamples.file([asking], settings: settings)).count
        }
        #expect(try findings("") == 1)
        #expect(try findings(#""me":["thing:th.1"],"#) == 0)
        #expect(try findings(#""loop":{"writesAs":["user:U1"]},"#) == 1)
        let unserved = LintSamples.file([rule], settings: #""serving":["user:*"],"#)
        #expect(try RoutingRules(unserved).feeds.isEmpty)
    }
}
