import KiiPush
import KiiPushRules
import Testing

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
