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
            ([#"{"data":{"n":{"not":21}}}"#], #"{"data":{"n":21.0}}"#, false),
            ([#"{"bucket":"b"}"#], #"{"bucket":"b*"}"#, false),
            ([#"{"kind":"pushToApp"}"#], #"{"bucket":"x","certainty":"ambiguous"}"#, false),
            ([#"{"scope":"user:*"}"#], #"{"scope":"APP_AND_USER"}"#, false),
            ([#"{"transport":"*"}"#], #"{}"#, false), ([#"{"scope":"*"}"#], #"{}"#, false),
            ([#"{"certainty":"certain"}"#], #"{}"#, false),
            ([#"{"data":{"n":{"greater":2}}}"#], #"{"data":{"n":{"greater":1}}}"#, false),
            ([#"{"data":{"n":"caf\u00e9"}}"#], #"{"data":{"n":"cafe\u0301"}}"#, false),
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
        #expect(try findings("{}") == ["4:80 unusedID"])
        #expect(try findings(#"{"topic":"orders","data":{"id":"1"}}"#) == [])
        #expect(try findings(#"{"topic":"news"}"#) == [])
    }
}
