import KiiPush
import KiiPushRules
import Testing

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
