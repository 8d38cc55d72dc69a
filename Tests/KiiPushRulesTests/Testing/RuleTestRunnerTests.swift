import KiiPush
import KiiPushRules
import KiiPushTesting
import Testing

@testable import KiiPushTestSupport

/// A rules file's own tests, through the real receiver.
struct RuleTestRunnerTests {
    /// A file in which each outcome that tests can name happens, asked for by every key that can be named.
    static let file = #"""
        {"version":1,"app":"a1","me":["thing:th.me"],"serving":["app","user:U1"],
         "dedupe":{"window":"100s"},"loop":{"hops":2},
         "rules":[
          {"id":"settings","when":{"kind":"pushToApp","bucket":"settings"},"then":{"handler":"reload"},"pace":"unlimited"},
          {"id":"log","when":{"data":{"level":{"greater":3}}},"then":{"run":["/nowhere/logger"]},"continue":true},
          {"id":"loud","when":{"data":{"level":{"greater":5}}},"then":{"print":true},"pace":"2s"},
          {"id":"odd","when":{"kind":"pushToUser"},"then":{"handler":"reload"},"pace":"2s"}],
         "tests":[
          {"name":"dedupe","steps":[
           {"payload":{"bucketID":"settings","objectScopeType":"APP","when":1},"transport":"mqtt",
            "expect":{"outcome":"handled","rules":["settings"],"handlers":["reload"],"kind":"pushToApp","certainty":"certain"}},
           {"at":"99s","payload":{"bucketID":"settings","objectScopeType":"APP","when":1},
            "expect":{"outcome":"duplicate","reason":"done","rules":["settings"],"handlers":[]}},
           {"at":"201s","payload":{"bucketID":"settings","objectScopeType":"APP","when":1},"expect":{"outcome":"handled"}}]},
          {"name":"failure","steps":[
           {"payload":{"level":6},"fail":["loud"],
            "expect":{"outcome":"failed","reason":"loud","rules":["log","loud"],"handlers":["log","loud"],"certainty":"likely"}},
           {"payload":{"level":6},"expect":{"outcome":"handled","rules":["log","loud"],"handlers":["loud"]}}]},
          {"name":"loops","steps":[
           {"payload":{"bucketID":"settings","sender":"th.me"},"expect":{"outcome":"looped","layer":"identity","handlers":[]}},
           {"write":"kiicloud://users/U1/buckets/settings/objects/o"},
           {"at":"9s","payload":{"bucketID":"settings","objectID":"o","objectScopeType":"APP_AND_USER","objectScopeUserID":"U1"},
            "expect":{"outcome":"looped","layer":"echo","reason":"echo"}},
           {"payload":{"bucketID":"settings","objectID":"o","objectScopeType":"APP_AND_USER","objectScopeUserID":"U1"},
            "expect":{"outcome":"duplicate"}},
           {"payload":{"topic":"t","_kl":"1;3;x"},"expect":{"outcome":"looped","layer":"lineage"}},
           {"kill":"settings"},
           {"payload":{"bucketID":"settings","objectScopeType":"APP","n":1},"expect":{"outcome":"looped","layer":"killSwitch","rules":["settings"]}},
           {"revive":"settings"},
           {"payload":{"bucketID":"settings","objectScopeType":"APP","n":2},"expect":{"outcome":"handled"}}]},
          {"name":"paced messages are handled at their own time","steps":[
           \#(burst),
           {"at":"1s","payload":{"topic":"t","objectScopeType":"APP","when":2,"sender":"s"},
            "expect":{"outcome":"paced","rules":["odd"],"handlers":[]}},
           {"at":"100s","payload":{"topic":"t","objectScopeType":"APP","when":2,"sender":"s"},"expect":{"outcome":"duplicate"}},
           {"at":"110s","payload":{"topic":"t","objectScopeType":"APP","when":2,"sender":"s"},"expect":{"outcome":"handled"}}]},
          {"name":"the rest","steps":[
           {"payload":{"topic":"t","appID":"a2"},"expect":{"outcome":"refused","reason":"app","rules":["odd"],"handlers":[]}},
           {"payload":{"topic":"t","objectScopeType":"APP_AND_USER","objectScopeUserID":"U2"},
            "expect":{"outcome":"refused","reason":"scope"}},
           {"payload":{"n":1},"expect":{"outcome":"unrouted","reason":"noRoute","rules":[],"kind":"directPush"}},
           {"payload":{"bucketID":"settings","objectScopeType":"APP","topic":"t"},"expect":{"outcome":"unrouted","reason":"ambiguous","certainty":"ambiguous"}},
           {"raw":"{\"n\":","expect":{"outcome":"undecodable","code":"unexpectedEnd","rules":[],"handlers":[]}},
           {"payload":{"n":1,"n":2},"expect":{"outcome":"undecodable","code":"duplicateKey"}},
           {"payload":[],"expect":{"outcome":"undecodable","code":"notAnObject"}}]}]}
        """#

    /// Steps that send twenty messages at once.
    private static var burst: String {
        (101...120).map {
            #"{"payload":{"topic":"t","objectScopeType":"APP","when":\#($0),"sender":"s"},"expect":{"outcome":"handled"}}"#
        }.joined(separator: ",\n")
    }

    private static func failures(_ text: String) async throws -> [RuleTestFailure] {
        let rules = try RoutingRules(text, file: "r.json")
        let runner = try RuleTestRunner(rules)
        var failures: [RuleTestFailure] = runner.missingTests.map { [$0] } ?? []
        for test in rules.tests { failures += await runner.run(test).failures }
        return failures
    }

    @Test("a file that says what the receiver does passes, whatever the outcome")
    func passes() async throws {
        let failures = try await Self.failures(Self.file)
        #expect(failures.isEmpty, "\(failures.map(\.description))")
    }

    @Test(
        "each key that is expected wrongly is reported with what came instead",
        arguments: [
            (#""outcome":"duplicate""#, #"2:70: outcome: expected "duplicate", found "handled""#),
            (#""reason":"done""#, #"2:70: reason: expected "done", found nothing"#),
            (#""layer":"echo""#, #"2:70: layer: expected "echo", found nothing"#),
            (#""code":"empty""#, #"2:70: code: expected "empty", found nothing"#),
            (#""rules":["b"]"#, #"2:70: rules: expected ["b"], found ["a"]"#),
            (#""rules":["a","b"]"#, #"2:70: rules: expected ["a","b"], found ["a"]"#),
            (#""rules":[]"#, #"2:70: rules: expected [], found ["a"]"#),
            (#""handlers":[]"#, #"2:70: handlers: expected [], found ["h"]"#),
            (#""kind":"pushToApp""#, #"2:70: kind: expected "pushToApp", found "directPush""#),
            (#""certainty":"certain""#, #"2:70: certainty: expected "certain", found "likely""#),
            (#""outcome":"handled","handlers":["h","h"]"#, #"2:90: handlers: expected ["h","h"], found ["h"]"#),
        ])
    func wrong(expect: String, problem: String) async throws {
        let failures = try await Self.failures(
            #"{"version":1,"rules":[{"id":"a","then":{"handler":"h"}},{"id":"b","then":{"handler":"h"}}],"#
                + "\n\"tests\":[{\"name\":\"T\",\"steps\":[{\"payload\":{\"n\":1},\"expect\":{          \(expect)}}]}]}"
        )
        let place = problem.split(separator: ":")[..<2].joined(separator: ":")
        let what = problem.dropFirst(place.utf8.count + 2)
        #expect(failures.map(\.description) == ["r.json:\(place): test 'T', step 1 (line 2): \(what)"])
        #expect(failures[0].key.map { what.hasPrefix($0) } == true && failures[0].expected != failures[0].actual)
    }

    @Test(
        "rules that are expected alone have handled the message",
        arguments: [
            (#""rules":["a"]"#, false), (#""rules":["a"],"kind":"directPush""#, false),
            (#""rules":["a"],"outcome":"duplicate""#, true), (#""rules":["a"],"reason":"done""#, true),
            (#""rules":["a"],"handlers":[]"#, true),
        ])
    func unhandled(expect: String, passes: Bool) async throws {
        let failures = try await Self.failures(
            #"""
            {"version":1,"rules":[{"id":"a","then":{"handler":"h"}}],
             "tests":[{"name":"T","steps":[
              {"payload":{"n":1},"expect":{"rules":["a"]}},
              {"payload":{"n":1},"expect":{\#(expect)}}]}]}
            """#)
        let what = "rules: they take it, but it was duplicate (done); if that is right, expect this outcome too"
        #expect(failures.map { "\($0.step ?? 0) \($0.what)" } == (passes ? [] : ["2 \(what)"]))
    }

    @Test(
        "what a test leaves out fails it",
        arguments: [
            ("", "1:1: the file has no tests; add a list 'tests'"),
            (#"{"name":"T","steps":[]}"#, "2:1: test 'T': the test has no steps"),
            (
                #"{"name":"T","steps":[{"payload":{}}]}"#,
                "2:22: test 'T', step 1 (line 2): nothing is expected of the message; it was unrouted (noRoute), so expect at least its outcome"
            ),
            (
                #"{"name":"T","steps":[{"kill":"*"},{"raw":"","expect":{}}]}"#,
                "2:54: test 'T', step 2 (line 2): nothing is expected of the message; it was undecodable (empty), so expect at least its outcome"
            ),
        ])
    func missing(test: String, problem: String) async throws {
        let tests = test.isEmpty ? "" : ",\"tests\":[\n\(test)]"
        let failures = try await Self.failures(#"{"version":1,"rules":[]\#(tests)}"#)
        #expect(failures.map(\.description) == ["r.json:\(problem)"])
    }

    @Test("a failure tells each stage, and of each rule the first condition that missed")
    func explanation() async throws {
        let failures = try await Self.failures(
            #"""
            {"version":1,"rules":[
             {"id":"a","when":{"kind":"directPush","data":{"n":{"greater":5},"m":"x"}},"then":{"handler":"h"}},
             {"id":"b","when":{"transport":"mqtt"},"then":{"handler":"h"},"continue":true},
             {"id":"c","then":{"handler":"h"}},
             {"id":"d","then":{"handler":"h"}}],
             "tests":[{"name":"T","steps":[
              {"payload":{"n":7,"m":"y"},"transport":"mqtt","expect":{"outcome":"unrouted","rules":[]}},
              {"payload":{"n":7,"m":"y"},"transport":"mqtt","expect":{"outcome":"handled"}}]}]}
            """#)
        #expect(failures.map(\.step) == [1, 1, 2])
        #expect(
            failures[0].explanation == [
                "stage decode: Direct Push, likely: nothing in the payload says otherwise", "stage route: b, c",
                "stage Deduplicator: pass", "stage LoopGuard: pass", "stage ScopeFilter: pass",
                "stage handle b: handled",
                "stage handle c: handled", #"rule 'a' misses data "m": expected "x", found "y" (r.json:2:66)"#,
                "rule 'b' takes it (r.json:3:2)", "rule 'c' takes it (r.json:4:2)",
                "rule 'd' is not tried: 'c' took it",
            ])
        #expect(failures[2].stages.last == "Deduplicator: drop: duplicate (done)")
        let lines = RuleCaseFailed(failures: failures).description.split(separator: "\n")
        // The explanation of a step stands once, behind all that is wrong with it.
        #expect(lines.count == 2 + 11 + 1 + failures[2].explanation.count && lines[2].hasPrefix("    stage decode"))
    }

    @Test("of many rules, a failure tells the expected ones, and those that come nearest")
    func nearest() async throws {
        let many = (0..<30).map { #"{"id":"b\#($0)","when":{"topic":"t\#($0)"},"then":{"handler":"h"}}"# }
        let failures = try await Self.failures(
            #"""
            {"version":1,"rules":[
             \#(many.joined(separator: ",")),
             {"id":"near","when":{"topic":"t*","data":{"n":1}},"then":{"handler":"h"}},
             {"id":"hid","when":{"kind":"directPush","topic":"t98"},"then":{"handler":"only"}},
             {"id":"c","when":{"command":"turnPower"},"then":{"handler":"h"}}],
             "tests":[{"name":"T","steps":[
              {"payload":{"topic":"t99","objectScopeType":"APP"},"expect":{"rules":["b7"]}},
              {"payload":{"topic":"t98","objectScopeType":"APP"},"expect":{"handlers":["only"]}},
              {"payload":{"commandID":"c","actions":[{"turnPower":{}}]},"expect":{"rules":["c"]}},
              {"kill":"*"},
              {"payload":{"topic":"t2","objectScopeType":"APP"},"expect":{"outcome":"handled"}}]}]}
            """#)
        let lines = failures.map { failure in failure.explanation.filter { !$0.hasPrefix("stage") } }
        #expect(lines.map(\.count) == [3, 3, 2, 4])
        #expect(lines[0].contains { $0.hasPrefix("rule 'b7' misses topic") })
        #expect(lines[0].contains { $0.hasPrefix("rule 'near' misses data") })
        #expect(lines[0].last == "and 31 more rules, which 'kiipush rules explain' shows")
        #expect(lines[1].contains { $0.hasPrefix("rule 'hid' misses kind") })
        let command = "found nothing: its 'commandID' and 'actions' have another form than a command of Thing-IF"
        #expect(lines[2].contains { $0.hasPrefix("rule 'c'") && $0.contains(command) })
        #expect(failures[3].what == #"outcome: expected "handled", found "looped" (killSwitch)"#)
        #expect(lines[3].last == "rule 'b3' is not tried: 'b2' took it (and 29 more rules)")
    }

    @Test("a handler that a step lets fail also fails if its message waited first")
    func pacedFailure() async throws {
        let rules = try RoutingRules(
            #"""
            {"version":1,
             "rules":[{"id":"a","then":{"handler":"h"},"pace":"2s"}],
             "tests":[{"name":"T","steps":[
              \#(Self.burst),
              {"payload":{"topic":"t","objectScopeType":"APP","when":1,"sender":"s"},"fail":["h"],"expect":{"outcome":"paced"}},
              {"payload":{"topic":"t","objectScopeType":"APP","when":2,"sender":"s"},"expect":{"outcome":"paced"}},
              {"at":"1200s","payload":{"n":4},"expect":{"outcome":"handled"}}]}]}
            """#)
        var counted: RuleCoverage? = RuleCoverage(rules)
        let result = await (try RuleTestRunner(rules)).run(rules.tests[0], counting: &counted)
        let coverage = try #require(counted)
        #expect(result.passed, "\(result.failures)")
        let seen = coverage.outcomes.filter { $0.messages > 0 }.map { "\($0.messages) \($0.name)" }
        // Twenty handled as they came, one later, and the last one; one failed later.
        #expect(seen == ["22 handled", "2 paced", "1 failed"])
    }
}
