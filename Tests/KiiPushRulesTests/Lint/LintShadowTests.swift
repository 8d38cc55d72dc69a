import KiiPush
import KiiPushRules
import Testing

/// Rules that earlier ones leave nothing to take.
struct LintShadowTests {
    /// Earlier rules, a later one, and whether that gets nothing.
    @Test(
        "a rule is shadowed by an earlier one with the same conditions, or without any",
        arguments: [
            ([#"{}"#], #"{"bucket":"b"}"#, true),
            ([#"{"kind":["pushToApp","pushToUser","directPush"]}"#], #"{"topic":"t"}"#, true),
            ([#"{"certainty":["certain","likely","ambiguous"]}"#], #"{"certainty":"ambiguous"}"#, true),
            ([#"{"certainty":"certain"}"#], #"{"bucket":"b","certainty":"certain"}"#, true),
            ([#"{"bucket":"b"}"#], #"{"bucket":"b"}"#, true),
            ([#"{"bucket":"a"}"#, #"{"object":"o*","bucket":"b"}"#], #"{"bucket":"b","object":"o*"}"#, true),
            ([#"{"data":{"n":{"greater":1}}}"#], #"{"data":{"n":{"greater":1}}}"#, true),
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
