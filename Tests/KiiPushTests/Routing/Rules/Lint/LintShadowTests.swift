import Testing

@testable import KiiPush
@testable import KiiPushRules

/// Rules that earlier ones leave nothing to take.
struct LintShadowTests {
    /// Earlier rules, a later one, and whether that gets nothing.
    @Test(
        "a rule is shadowed just when earlier ones take all that it would",
        arguments: [
            ([#"{}"#], #"{"bucket":"b"}"#, true),
            ([#"{"bucket":"b"}"#], #"{"bucket":"b","object":"o"}"#, true),
            ([#"{"bucket":"b*"}"#], #"{"bucket":["b1","bb*"]}"#, true),
            ([#"{"bucket":"*"}"#], #"{"object":"o"}"#, true),
            ([#"{"kind":"pushToApp"}"#], #"{"bucket":"x"}"#, true),
            ([#"{"scope":"*"}"#], #"{"topic":"t"}"#, true),
            ([#"{"scope":["APP","user:*","group:*","thing:*"]}"#], #"{"topic":"t"}"#, true),
            ([#"{"scope":"user:U1"}"#], #"{"scope":"APP_AND_USER","scopeID":"U1"}"#, true),
            ([#"{"scopeID":"U*"}"#], #"{"scope":["user:U1","group:U2"]}"#, true),
            ([#"{"scope":"user:*"}"#], #"{"bucket":"b","scope":"APP_AND_USER"}"#, true),
            ([#"{"sender":"*"}"#], #"{"sender":["user:1","thing:2"]}"#, true),
            ([#"{"bucket":"b","certainty":"certain"}"#], #"{"bucket":"b"}"#, true),
            ([#"{"data":{"n":{"greater":1}}}"#], #"{"topic":"t","data":{"n":{"greater":2,"less":9}}}"#, true),
            ([#"{"data":{"n":{"greater":1}}}"#], #"{"data":{"n":[2,"3",{"anyOf":[4]}]}}"#, true),
            ([#"{"data":{"n":{"not":"x"}}}"#], #"{"data":{"n":{"prefix":"y"}}}"#, true),
            ([#"{"data":{"n":{"exists":true}}}"#], #"{"data":{"n":null}}"#, true),
            ([#"{"bucket":"a"}"#, #"{"bucket":"b"}"#], #"{"bucket":["a","b"]}"#, true),
            ([#"{"kind":"pushToApp"}"#, #"{"kind":"pushToUser"}"#, #"{"kind":"directPush"}"#], #"{}"#, true),
            (
                [#"{"kind":["pushToApp","pushToUser"]}"#, #"{"certainty":"likely"}"#, #"{"certainty":"certain"}"#],
                #"{}"#, true
            ),
            // Numbers are compared by their value, in whatever spelling; texts are not.
            ([#"{"data":{"n":21}}"#], #"{"data":{"n":21.0}}"#, true),
            ([#"{"data":{"n":21}}"#], #"{"data":{"n":"2.1e1"}}"#, true),
            ([#"{"data":{"n":{"anyOf":[1,21.0]}}}"#], #"{"data":{"n":[210e-1,1.00]}}"#, true),
            ([#"{"data":{"n":{"not":21}}}"#], #"{"data":{"n":22.0}}"#, true),
            ([#"{"data":{"n":{"not":"x*"}}}"#], #"{"data":{"n":21}}"#, true),
            ([#"{"data":{"n":{"greater":20}}}"#], #"{"data":{"n":{"anyOf":[2.1e1,"30"]}}}"#, true),
            ([#"{"data":{"n":9007199254740993}}"#], #"{"data":{"n":9007199254740993.0}}"#, true),
            // And nearly, but not quite.
            ([#"{"data":{"n":"21"}}"#], #"{"data":{"n":21}}"#, false),
            ([#"{"data":{"n":"2*"}}"#], #"{"data":{"n":21}}"#, false),
            ([#"{"data":{"n":{"not":"21.0"}}}"#], #"{"data":{"n":21}}"#, false),
            ([#"{"data":{"n":{"not":21}}}"#], #"{"data":{"n":21.0}}"#, false),
            ([#"{"data":{"n":7}}"#], #"{"data":{"n":"007"}}"#, false),
            ([#"{"data":{"n":9007199254740993}}"#], #"{"data":{"n":9007199254740992}}"#, false),
            ([#"{"bucket":"b"}"#], #"{"bucket":"b*"}"#, false),
            ([#"{"bucket":"b","object":"o"}"#], #"{"bucket":"b"}"#, false),
            ([#"{"bucket":"b*"}"#], #"{"bucket":["b1","a"]}"#, false),
            ([#"{"object":"*"}"#], #"{"bucket":"b"}"#, false),
            ([#"{"kind":"pushToApp"}"#], #"{"bucket":"x","certainty":"ambiguous"}"#, false),
            ([#"{"scope":"user:*"}"#], #"{"scope":"APP_AND_USER"}"#, false),
            ([#"{"scope":"user:U1"}"#], #"{"scopeID":"U1"}"#, false),
            ([#"{"sender":"user:*"}"#], #"{"sender":"*"}"#, false),
            ([#"{"transport":"*"}"#], #"{}"#, false), ([#"{"scope":"*"}"#], #"{}"#, false),
            ([#"{"certainty":"certain"}"#], #"{}"#, false),
            ([#"{"data":{"n":{"greater":2}}}"#], #"{"data":{"n":{"greater":1}}}"#, false),
            ([#"{"data":{"n":"*"}}"#], #"{"data":{"n":{"not":"x"}}}"#, false),
            ([#"{"data":{"n":"caf\u00e9"}}"#], #"{"data":{"n":"cafe\u0301"}}"#, false),
            ([#"{"bucket":"a"}"#, #"{"bucket":"b","object":"*"}"#], #"{"bucket":["a","b"]}"#, false),
            ([#"{"bucket":"b","topic":"t"}"#], #"{"bucket":"b"}"#, false),
        ])
    func shadows(earlier: [String], later: String, isShadowed: Bool) throws {
        let rules = earlier.enumerated().map { LintSamples.rule("e\($0.offset)", $0.element) }
        let text = LintSamples.file(rules + [LintSamples.rule("late", later)])
        let found = try RoutingRules(text).lint().filter { $0.rule == "late" && $0.code == .shadowed }
        #expect(found.map(\.position.line) == (isShadowed ? [3 + earlier.count] : []))
        // With "continue" the earlier ones take nothing away.
        let open = earlier.enumerated().map { LintSamples.rule("e\($0.offset)", $0.element, #""continue":true"#) }
        let same = try RoutingRules(LintSamples.file(open + [LintSamples.rule("late", later)])).lint()
        #expect(!same.contains { $0.code == .shadowed })
    }

    @Test("texts of a list whose messages are taken before are named; the rest of the rule lives")
    func partly() throws {
        let text = LintSamples.file([
            LintSamples.rule("a", #"{"bucket":"x*"}"#), LintSamples.rule("b", #"{"bucket":["y","x1"],"object":"o"}"#),
        ])
        let findings = try RoutingRules(text).lint()
        #expect(
            findings.map(\.code) == [.partlyShadowed] && findings[0].position == SourcePosition(line: 4, column: 19))
        #expect(
            findings[0].what.hasPrefix("of the list of 'bucket' the text 2 does nothing: the earlier rule 'a' (3:1)"))
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

    @Test("the check of thousands of ordinary rules looks at few pairs")
    func scale() throws {
        let rules = try (0..<3000).map { number -> RoutingRule in
            let when = [
                #"{"bucket":"b\#(number)"}"#, #"{"topic":"t\#(number)-*"}"#,
                #"{"bucket":"same","scope":["user:U\#(number)"]}"#, #"{"topic":"same","data":{"id":"n\#(number)"}}"#,
            ][number % 4]
            return try RoutingRules(LintSamples.file([LintSamples.rule("r\(number)", when)])).rules[0]
        }
        var check = ShadowCheck(rules.map { RuleProfile($0.criteria) }) { _ in true }
        for number in rules.indices {
            let shadow = check.shadow(of: number)
            #expect(shadow == nil)
        }
        #expect(check.isComplete && check.pairs < 30_000)
    }
}
