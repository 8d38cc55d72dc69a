import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushRules
@testable import KiiPushTestSupport

/// Conditions that are combined by `any`, `all` and `not`.
struct CombinedConditionTests {
    private static let payload = RawPayload(
        #"{"topic":"alerts","objectScopeType":"APP","sender":"th.1","temp":{"value":22},"mode":"eco","n":3}"#,
        transport: .mqtt)

    @Test(
        "any, all and not combine conditions, also inside each other",
        arguments: [
            (#"{"any":[{"topic":"news"},{"topic":"alerts"}]}"#, true),
            (#"{"any":[{"topic":"news"},{"bucket":"b"}]}"#, false),
            (#"{"any":[{"topic":"alerts","transport":"fcm"},{"data":{"mode":"eco"}}]}"#, true),
            (#"{"all":[{"data":{"n":{"greater":2}}},{"data":{"n":{"less":4}}}]}"#, true),
            (#"{"all":[{"data":{"n":{"greater":2}}},{"data":{"n":{"less":3}}}]}"#, false),
            (#"{"not":{"topic":"news"}}"#, true), (#"{"not":{"topic":"alerts"}}"#, false),
            (#"{"not":{"topic":"alerts","data":{"mode":"auto"}}}"#, true),
            (#"{"topic":"alerts","not":{"data":{"/temp/value":{"greater":21}}}}"#, false),
            (#"{"kind":"pushToUser","any":[{"not":{"sender":"thing:*"}},{"all":[{"transport":"mqtt"}]}]}"#, true),
            (#"{"topic":"news","any":[{"kind":"*"}]}"#, false),
        ])
    func evaluated(when: String, takes: Bool) throws {
        let message = try PushMessage(Self.payload)
        let rule = try RoutingRules(RulesSamples.when(when)).rules[0]
        #expect(rule.criteria.takes(message) == takes)
        #expect(rule.explain(message).allSatisfy(\.holds) == takes)
        var covered = CoveredRule(rule)
        #expect(covered.judge(message) == takes)
        let table = RouteTable([Route("r", criteria: rule.criteria)])
        #expect(table.match(message.storage).routes.ids == (takes ? ["r"] : []))
    }

    @Test("the certainty of the rule holds for all of its parts")
    func certainty() throws {
        let message = try PushMessage(RawPayload(#"{"topic":"t","bucketID":"b","objectScopeType":"APP"}"#))
        #expect(message.certainty == .ambiguous)
        for (when, takes) in [(#"{"any":[{"kind":"*"}]}"#, false), (#"{"certainty":"*","any":[{"kind":"*"}]}"#, true)] {
            let rule = try RoutingRules(RulesSamples.when(when)).rules[0]
            #expect(rule.explain(message).allSatisfy(\.holds) == takes)
            let table = RouteTable([Route("r", criteria: rule.criteria)])
            #expect(table.match(message.storage).routes.ids == (takes ? ["r"] : []))
        }
    }

    @Test("a rule prints as the file writes it, and equal conditions are equal in any order")
    func text() throws {
        func text(_ when: String) throws -> String {
            var writer = JSONWriter()
            try RoutingRules.criteria(when).write(to: &writer)
            return writer.text
        }
        let written =
            #"{"topic":"t","data":{"n":1},"all":[{"sender":"*"}],"any":[{"bucket":"b"},{"not":{"topic":"u"}}]}"#
        let other = #"{"any":[{"bucket":"b"},{"not":{"topic":"u"}}],"data":{"n":1},"all":[{"sender":"*"}],"topic":"t"}"#
        #expect(try text(other) == text(written))
        #expect(try RoutingRules.criteria(text(written)) == RoutingRules.criteria(written))
        #expect(try text(written).hasPrefix(#"{"topic":"t","data":{"n":1},"all":[{"sender":["#))
    }

    @Test("an explanation names each part by its path, and counts those that hold")
    func explained() throws {
        let rule = try RoutingRules(
            RulesSamples.when(
                #"{"topic":"alerts","any":[{"bucket":"b"},{"data":{"mode":"auto"},"not":{"topic":"x"}}]}"#)
        ).rules[0]
        let checks = rule.explain(try PushMessage(Self.payload))
        #expect(checks.map(\.name) == ["topic", "certainty", "any"])
        let any = try #require(checks.last)
        #expect(!any.holds && any.actual == nil && any.reason == "0 of 2 hold")
        #expect(any.parts.map(\.name) == ["any/0/bucket", "any/1/data", "any/1/not"])
        #expect(any.parts.map(\.holds) == [false, false, true])
        #expect(any.parts[2].parts.map(\.name) == ["any/1/not/topic"] && any.parts[2].reason == "it does not hold")
        #expect(rule.places[ExactText("any/1/not/topic")]?.description == "1:111")
    }

    @Test(
        "each condition counts in the coverage where it decided, also inside any, all and not",
        arguments: [
            ([], ["a taken", "any held", "any missed"] + inner.flatMap { ["\($0) held", "\($0) missed"] }),
            (
                [message("t")],
                [
                    "any missed", "any/0/topic missed", "any/1/data held", "any/1/data missed", "any/1/not held",
                    "any/1/not missed", "any/1/not/topic held", "any/1/not/topic missed",
                ]
            ),
            (
                [message("u", n: 1)],
                [
                    "a taken", "any held", "any/0/topic held", "any/1/data missed", "any/1/not held",
                    "any/1/not/topic missed",
                ]
            ),
            ([message("t"), message("v", n: 1), message("u", n: 1), message("u")], []),
        ] as [([String], [String])])
    func coverage(payloads: [String], gaps: [String]) async throws {
        let steps = payloads.map { #"{"payload":\#($0),"expect":{"outcome":"unrouted"}}"# }.joined(separator: ",")
        let rules = try RoutingRules(
            #"""
            {"version":1,"rules":[{"id":"a","when":{"any":[{"topic":"t"},{"data":{"n":1},"not":{"topic":"u"}}]},
             "then":{"handler":"h"}}],"tests":[{"name":"T","steps":[\#(steps)]}]}
            """#)
        let coverage = try await rules.coverage()
        #expect(Set(coverage.uncovered.map { "\($0.condition ?? $0.rule) \($0.kind.rawValue)" }) == Set(gaps))
        #expect(coverage.points == 11)
    }

    private static func message(_ topic: String, n: Int = 0) -> String {
        #"{"topic":"\#(topic)","objectScopeType":"APP","n":\#(n)}"#
    }

    private static let inner = ["any/0/topic", "any/1/data", "any/1/not", "any/1/not/topic"]

    @Test("combined conditions are bounded in depth and number")
    func bounded() {
        func nested(_ levels: Int) -> String {
            String(repeating: #"{"not":"#, count: levels) + #"{"topic":"t"}"# + String(repeating: "}", count: levels)
        }
        #expect(RulesSamples.problems(RulesSamples.when(nested(8))).isEmpty)
        #expect(
            RulesSamples.problems(RulesSamples.when(nested(9))).map { $0.drop { $0 != " " } }
                == [" conditions are combined more than 8 levels deep"])
        func wide(_ parts: Int) -> String {
            "{\"any\":[\(Array(repeating: #"{"topic":"t"}"#, count: parts).joined(separator: ","))]}"
        }
        #expect(RulesSamples.problems(RulesSamples.when(wide(100))).isEmpty)
        #expect(
            RulesSamples.problems(RulesSamples.when(wide(102))).map { $0.drop { $0 != " " } }
                == [" a rule combines at most 100 objects of conditions"])
    }
}
