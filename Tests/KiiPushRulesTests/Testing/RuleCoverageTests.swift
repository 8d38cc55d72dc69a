import KiiPush
import KiiPushRules
import KiiPushTesting
import Testing

@testable import KiiPushTestSupport

/// What a file's tests have shown of its rules.
struct RuleCoverageTests {
    /// One rule for everything that can be counted, and one behind it.
    private static func file(_ payloads: [String]) throws -> RoutingRules {
        let steps = payloads.map { "{\"payload\":\($0),\"expect\":{\"rules\":[]}}" }.joined(separator: ",")
        return try RoutingRules(
            #"""
            {"version":1,"rules":[
             {"id":"a","when":{"data":{"n":1,"m":"x*"},"kind":"pushToUser","certainty":"*"},"then":{"handler":"h"}},
             {"id":"b","when":{"kind":"*"},"then":{"handler":"h"}}],
             "tests":[{"name":"T","steps":[\#(steps)]}]}
            """#, file: "r.json")
    }

    @Test(
        "a condition counts when those judged before it held; a rule when it took a message; later rules when it did not",
        arguments: [
            (
                [],
                [
                    "2:2 a taken", "2:28 n held", "2:28 n missed", "2:34 m held", "2:34 m missed", "2:44 kind held",
                    "2:44 kind missed", "2:64 certainty held", "3:2 b taken",
                ]
            ),
            // The kind misses first, though neither of the data is there.
            (
                [#"{"n":2}"#],
                [
                    "2:2 a taken", "2:28 n held", "2:28 n missed", "2:34 m held", "2:34 m missed", "2:44 kind held",
                    "2:64 certainty held",
                ]
            ),
            (
                [#"{"topic":"t","n":2}"#],
                ["2:2 a taken", "2:28 n held", "2:34 m held", "2:34 m missed", "2:44 kind missed"]
            ),
            ([#"{"topic":"t","n":1,"m":"y"}"#], ["2:2 a taken", "2:28 n missed", "2:34 m held", "2:44 kind missed"]),
            (
                [#"{"topic":"t","n":1,"m":"xy"}"#],
                ["2:28 n missed", "2:34 m missed", "2:44 kind missed", "3:2 b taken"]
            ),
            ([#"{"topic":"t","n":1,"m":"xy"}"#, #"{"topic":"t","n":1}"#, #"{"topic":"t"}"#, "{}"], []),
        ] as [([String], [String])])
    func gaps(payloads: [String], expected: [String]) async throws {
        let rules = try Self.file(payloads)
        let coverage = try await rules.coverage()
        #expect(
            coverage.uncovered.map { "\($0.position) \($0.key ?? $0.condition ?? $0.rule) \($0.kind.rawValue)" }
                == expected)
        #expect(coverage.points == 9 && coverage.covered == 9 - expected.count)
        #expect(coverage.percent == Double(9 - expected.count) * 100 / 9)
        #expect(coverage.reaches(percent: coverage.percent) && !coverage.reaches(percent: coverage.percent + 0.01))
    }

    @Test("counting on over several tests adds up, and undecodable messages cover nothing")
    func sum() async throws {
        let rules = try RoutingRules(
            #"""
            {"version":1,"rules":[{"id":"a","when":{"topic":"t"},"then":{"handler":"h"}}],
             "tests":[{"name":"1","steps":[{"raw":"","expect":{"outcome":"undecodable"}}]},
              {"name":"2","steps":[{"payload":{"n":1},"expect":{"outcome":"unrouted"}}]},
              {"name":"3","steps":[{"payload":{"topic":"t","objectScopeType":"APP"},"expect":{"outcome":"handled"}}]}]}
            """#)
        let runner = try RuleTestRunner(rules)
        var counted: RuleCoverage? = RuleCoverage(rules)
        var covered: [Int] = []
        for test in rules.tests {
            #expect(await runner.run(test, counting: &counted).passed)
            covered.append(try #require(counted).covered)
        }
        let coverage = try #require(counted)
        #expect(covered == [0, 1, 3] && coverage.points == 3 && coverage.uncovered.isEmpty)
        let seen = coverage.outcomes.filter { $0.messages > 0 }.map(\.name)
        #expect(seen == ["handled", "unrouted", "undecodable"])
    }

    @Test("a change that a newer one replaced while it waited is counted; without one, the outcome is not listed")
    func superseded() async throws {
        func outcomes(_ times: some Sequence<Int>) async throws -> [String] {
            let steps = times.map { time in
                #"{"payload":{"bucketID":"b","objectID":"o","objectScopeType":"APP","modifiedAt":\#(time)},"#
                    + #""expect":{"kind":"pushToApp"}}"#
            }
            let rule = #"{"id":"a","when":{"bucket":"b"},"then":{"handler":"h"},"pace":"90s"}"#
            let tests = #"[{"name":"t","steps":[\#(steps.joined(separator: ","))]}]"#
            let rules = try RoutingRules(#"{"version":1,"rules":[\#(rule)],"tests":\#(tests)}"#)
            return try await rules.coverage().outcomes.map { "\($0.name) \($0.messages)" }
        }
        #expect(try await outcomes([1]).allSatisfy { !$0.hasPrefix("superseded") })
        #expect(try await outcomes(Array(11...31) + [1]).contains("superseded 1"))
    }

    @Test("the first condition that coverage counts as missed is the one that an explanation names")
    func agreesWithExplanations() throws {
        let rules = try RoutingRules(
            #"""
            {"version":1,"rules":[
             {"id":"a","when":{"data":{"n":{"greater":1}},"sender":"thing:*","scope":"APP","bucket":"b*","object":"*"},"then":{"handler":"h"}},
             {"id":"b","when":{"topic":"news","scopeID":"U-1","transport":["fcm","mqtt"]},"then":{"handler":"h"}},
             {"id":"c","when":{"events":"DATA_*","kind":["pushToApp","directPush"]},"then":{"handler":"h"}}]}
            """#)
        var missed: Set<Int> = []
        for row in PayloadFixture.matrix {
            let message = try PushMessage(row.payload)
            for rule in rules.rules {
                let checks = rule.explain(message)
                #expect(rule.firstMiss(message) == checks.first { !$0.holds })
                var covered = CoveredRule(rule)
                let isTaken = covered.judge(message)
                #expect(checks.map(\.name) == covered.conditions.map(\.name))
                let held = covered.conditions.count(where: \.isHeld)
                #expect(covered.conditions.map(\.isMissed) == checks.indices.map { $0 == held })
                #expect(held == checks.firstIndex { !$0.holds } ?? checks.count && isTaken == (held == checks.count))
                missed.insert(held)
            }
        }
        #expect(missed.count > 3)
    }
}

extension RoutingRules {
    /// What the file's tests cover.
    func coverage() async throws -> RuleCoverage {
        let runner = try RuleTestRunner(self)
        var counted: RuleCoverage? = RuleCoverage(self)
        for test in tests { _ = await runner.run(test, counting: &counted) }
        return try #require(counted)
    }
}
