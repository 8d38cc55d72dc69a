import KiiPush
import KiiPushRules
import Testing

@testable import KiiPushTestSupport

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
            #"{"topic":"t","any":[{"data":{"/a/b":1}},{"not":{"sender":"thing:th.1"}}]}"#,
            #"{"topic":"t","all":[{"any":[{"data":{"n":1}}]},{"any":[{"data":{"m":1}}]}]}"#,
            #"{"topic":"t","data":{"/a/*":{"not":{"exists":true}}}}"#, #"{"topic":"t","data":{"/a.b/c":1}}"#,
        ])
    func fine(when: String) throws {
        #expect(try Self.findings([LintSamples.rule("r", when)]) == [])
    }

    @Test(
        "a rule with combined conditions shadows only one with the same conditions",
        arguments: [
            (#"{"topic":"t","any":[{"data":{"n":1}},{"data":{"n":2}}]}"#, #"{"topic":"t","data":{"n":1}}"#, false),
            (#"{"topic":"t","not":{"data":{"n":1}}}"#, #"{"topic":"t"}"#, false),
            (#"{"not":{"topic":"t"}}"#, #"{"topic":"u"}"#, false),
            (#"{"topic":"t"}"#, #"{"topic":"t","not":{"data":{"n":1}}}"#, false),
            (#"{"topic":"t","not":{"data":{"n":1}}}"#, #"{"not":{"data":{"n":1.0}},"topic":"t"}"#, false),
            (#"{"topic":"t","not":{"data":{"n":1}}}"#, #"{"not":{"data":{"n":1}},"topic":"t"}"#, true),
            (#"{}"#, #"{"any":[{"topic":"t"},{"bucket":"b"}]}"#, true),
        ])
    func shadows(first: String, second: String, isShadowed: Bool) throws {
        let found = try Self.findings([LintSamples.rule("a", first), LintSamples.rule("b", second)])
        #expect(found.contains("b shadowed") == isShadowed)
    }

    @Test("a rule whose parts never hold calls no handler, and a test cannot expect it")
    func dead() throws {
        let rule = LintSamples.rule("r", #"{"kind":"pushToUser","any":[{"bucket":"b"},{"object":"o"}]}"#)
        let text = #"""
            {"version":1,"rules":[\#(rule)],
             "tests":[{"name":"t","steps":[{"payload":{"topic":"t"},"expect":{"rules":["r"]}}]}]}
            """#
        let codes = try RoutingRules(text).lint(handlers: nil).map(\.code)
        #expect(codes.count { $0 == .neverHolds } == 2 && codes.count { $0 == .neverMatches } == 1)
        #expect(codes.contains(.impossibleTest))
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
