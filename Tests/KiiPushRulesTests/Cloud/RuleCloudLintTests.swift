import KiiPush
import KiiPushRules
import Testing

/// What the linter says of rules that write to Kii's cloud and send.
struct RuleCloudLintTests {
    private static func rule(_ id: String, _ when: String, _ then: String, _ rest: String = "") -> String {
        #"{"id":"\#(id)","when":\#(when),"then":\#(then)\#(rest.isEmpty ? "" : "," + rest)}"#
    }

    private static func write(_ uri: String) -> String { #"{"write":{"object":"\#(uri)","fields":{"n":1}}}"# }
    private static func send(_ uri: String) -> String { #"{"send":{"topic":"\#(uri)","as":"user:u","data":{"n":1}}}"# }

    private func codes(_ rules: String..., settings: String = "") throws -> [RuleFinding.Code] {
        try RoutingRules(LintSamples.file(rules, settings: settings)).lint().map(\.code)
    }

    @Test(
        "a rule that takes what it writes or sends itself is found, also where names are filled in",
        arguments: [
            (#"{"bucket":"b","object":"*"}"#, write("kiicloud://buckets/b/objects/o"), true),
            (#"{"bucket":"b","object":"*"}"#, write("kiicloud://buckets/${bucket}/objects/${object}"), true),
            (#"{"bucket":"b*","object":"*"}"#, write("kiicloud://buckets/c-${object}/objects/o"), false),
            (#"{"bucket":"b*","object":"*"}"#, write("kiicloud://buckets/b-${object}/objects/o"), true),
            (
                #"{"bucket":["b","c"],"object":"*"}"#, write("kiicloud://buckets/${bucket}-done/objects/${object}"),
                false
            ),
            (
                #"{"bucket":"b","object":"*","scope":"user:u-1"}"#,
                write("kiicloud://users/${scopeID}/buckets/b/objects/x"), true
            ),
            (
                #"{"bucket":"b","object":"*","scope":"user:u-1"}"#,
                write("kiicloud://things/${scopeID}/buckets/b/objects/x"), false
            ),
            (#"{"bucket":"b","object":"*","scope":"APP"}"#, write("kiicloud://users/u/buckets/b/objects/x"), false),
            (#"{"topic":"t","scope":"user:u"}"#, send("kiicloud://users/u/topics/t"), true),
            (#"{"topic":"t","scope":"user:u"}"#, send("kiicloud://users/u/topics/${topic}"), true),
            (#"{"topic":"t","scope":"user:u"}"#, send("kiicloud://users/u/topics/other"), false),
        ])
    func selfFeeding(when: String, then: String, feeds: Bool) throws {
        #expect(try codes(Self.rule("r", when, then)) == (feeds ? [.feedsItself] : []))
    }

    @Test("reports a cycle of two rules; with unlimited paces it is an error")
    func circle() throws {
        func rules(_ rest: String) -> [String] {
            [
                Self.rule("a", #"{"bucket":"a","object":"*"}"#, Self.send("kiicloud://users/u/topics/t"), rest),
                Self.rule(
                    "b", #"{"topic":"t","scope":"user:u"}"#, Self.write("kiicloud://buckets/a/objects/${topic}"), rest),
            ]
        }
        let found = try RoutingRules(LintSamples.file(rules(""))).lint()
        #expect(found.map(\.code) == [.cycle])
        #expect(
            found.first?.what
                == "rules that feed each other: 'a' (3:1) writes kiicloud://users/u/topics/t, which 'b' (4:1) takes; "
                + "'b' (4:1) writes kiicloud://buckets/a/objects/${topic}, which 'a' (3:1) takes: each message may "
                + "cause the next one on another device, up to 8 times; break the loop")
        let unguarded = try RoutingRules(LintSamples.file(rules(#""pace":"unlimited""#))).lint()
        #expect(unguarded.map(\.code) == [.unguardedCycle])
    }

    @Test("the finding stands where the rule says what it writes")
    func place() throws {
        let rule = Self.rule("r", #"{"bucket":"b","object":"*"}"#, Self.write("kiicloud://buckets/b/objects/o"))
        let column = try #require(Array(rule.utf8).firstRange(of: Array("\"kiicloud".utf8))?.lowerBound) + 1
        let found = try RoutingRules(LintSamples.file([rule])).lint()
        #expect(found.map(\.position) == [SourcePosition(line: 3, column: column)])
    }

    @Test(
        "a value that some messages lack is found, unless the conditions ask for it",
        arguments: [
            (#"{"topic":"t"}"#, "data.x", true), (#"{"topic":"t","data":{"x":{"exists":true}}}"#, "data.x", false),
            (#"{"topic":"t","data":{"x":"a*"}}"#, "data.x", false),
            (#"{"topic":"t","data":{"x":{"not":1}}}"#, "data.x", true), (#"{"topic":"t"}"#, "topic", false),
            (#"{"topic":"t"}"#, "bucket", true), (#"{"bucket":"b","object":"*"}"#, "object", false),
            (#"{"bucket":"b"}"#, "object", true), (#"{"topic":"t"}"#, "scopeID", true),
            (#"{"topic":"t","scope":"user:u"}"#, "scopeID", false), (#"{"topic":"t"}"#, "senderID", true),
            (#"{"topic":"t","sender":"*"}"#, "senderID", false), (#"{"topic":"t"}"#, "when", false),
        ])
    func missing(when: String, field: String, isFound: Bool) throws {
        let then = #"{"write":{"object":"kiicloud://buckets/x/objects/o","fields":{"v":"${\#(field)}"}}}"#
        #expect(try codes(Self.rule("r", when, then)) == (isFound ? [.missingValue] : []))
    }

    @Test(
        "a push that Kii refuses whatever is filled in is an error",
        arguments: [
            (#""data":{"x":{"y":1}}"#, true), (#""data":{"from":"x"}"#, true), (#""data":{"x":null}"#, true),
            (#""data":{},"apns":{"enabled":false},"fcm":{"enabled":false},"mqtt":{"enabled":false}"#, true),
            (#""data":{"x":"\#(String(repeating: "x", count: 4000))"}"#, true),
            (#""data":{"x":"${topic}\#(String(repeating: "x", count: 4000))"}"#, false), (#""data":{"x":1}"#, false),
        ])
    func refused(body: String, isFound: Bool) throws {
        let then = #"{"send":{"topic":"kiicloud://users/u/topics/other","as":"user:u",\#(body)}}"#
        let found = Set(try codes(Self.rule("r", #"{"topic":"t"}"#, then)))
        #expect(found == (isFound ? [.refusedPush] : []))
    }

    @Test("reports a sender without the right to a topic, unless the owner is filled in")
    func rights() throws {
        func codes(_ topic: String) throws -> [RuleFinding.Code] {
            try self.codes(Self.rule("r", #"{"topic":"t","scope":"user:u"}"#, Self.send(topic)))
        }
        // Kii's guides differ on another user's topic.
        #expect(try codes("kiicloud://users/other/topics/x") == [])
        #expect(try codes("kiicloud://topics/x") == [.refusedPush])
        #expect(try codes("kiicloud://users/${scopeID}/topics/x") == [])
    }

    @Test("another app's object is found")
    func otherApp() throws {
        let rule = Self.rule("r", #"{"bucket":"b"}"#, Self.write("kiicloud://other/buckets/x/objects/o"))
        #expect(try codes(rule, settings: #""app":"mine","#) == [.otherApp])
    }
}
