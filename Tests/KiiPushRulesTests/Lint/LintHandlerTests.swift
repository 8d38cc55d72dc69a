import KiiPush
import KiiPushRules
import Testing

/// Handlers that are missing or too many, and tests that cannot pass.
struct LintHandlerTests {
    private let rules = LintSamples.file([
        #"{"id":"a","when":{"bucket":"a*"},"then":{"handler":"reload"}}"#,
        #"{"id":"b","when":{"bucket":"a*"},"then":{"handler":"notify"}}"#,
        #"{"id":"c","when":{"topic":"t"},"then":{"print":true}}"#,
    ])

    @Test("unknown handlers, unused ones and ones that are never called are told apart")
    func handlers() throws {
        let found = ["4:1 shadowed", "4:52 unreachableHandler"]
        #expect(try LintSamples.findings(rules) == found)
        #expect(try LintSamples.findings(rules, handlers: ["reload", "notify"]) == found)
        #expect(try LintSamples.findings(rules, handlers: ["reload"]) == ["4:1 shadowed", "4:52 unknownHandler"])
        #expect(
            try LintSamples.findings(rules, handlers: ["notify", "reload", "extra"]) == ["1:1 unusedHandler"] + found)
        let finding = try #require(
            try RoutingRules(rules).lint(handlers: ["relaod", "notify"]).first { $0.code == .unknownHandler })
        #expect(finding.what == "unknown handler 'reload'; did you mean 'relaod'?; register it, or name one that is")
    }

    @Test("a transport of a step is a program's own where a rule asks for it, unless it looks mistyped")
    func transports() throws {
        for (transport, count) in [("pigeon", 0), ("mqqt", 2)] {
            let file = LintSamples.file(
                [LintSamples.rule("a", #"{"transport":"\#(transport)"}"#)],
                tests: #"[{"name":"t","steps":[{"payload":{},"transport":"\#(transport)","expect":{"rules":["a"]}}]}]"#)
            let codes = try RoutingRules(file).lint().map(\.code)
            #expect(codes == Array(repeating: .unknownTransport, count: count))
        }
    }

    @Test("two tests of one name are warned of where they stand, and settings of the delivery are not")
    func warnings() throws {
        let test = #"{"name":"t","steps":[{"payload":{},"expect":{"rules":["a"]}}]}"#
        let file = LintSamples.file(
            [LintSamples.rule("a", "{}", #""delivery":{}"#)], settings: #""delivery":{"attempts":2},"#,
            tests: "[\(test),\n\(test)]")
        let findings = try RoutingRules(file).lint()
        #expect(findings.map { "\($0.position) \($0.code.rawValue)" } == ["6:1 repeatedTestName"])
        #expect(findings.allSatisfy { $0.severity == .warning })
        #expect(findings.map(\.rule) == [nil])
        #expect(findings[0].related.map(\.position) == [SourcePosition(line: 5, column: 11)])
    }

    /// Steps of a test, and what is found in it; the step stands in line 8, from column 23 on.
    @Test(
        "a test that cannot pass is found",
        arguments: [
            (#"{"payload":{},"expect":{"rules":["a"],"handlers":["reload"]}}"#, []),
            (#"{"payload":{},"expect":{"rules":["a","nope"]}}"#, ["8:47 impossibleTest"]),
            (#"{"payload":{},"expect":{"handlers":["c"],"rules":[]}}"#, []),
            (#"{"payload":{},"expect":{"handlers":["print"]}}"#, ["8:47 impossibleTest"]),
            (#"{"payload":{},"expect":{"rules":["b"]}}"#, ["8:47 impossibleTest"]),
            (#"{"payload":{},"expect":{"rules":["c","a"]}}"#, ["8:47 impossibleTest"]),
            (#"{"payload":{},"expect":{"rules":["a","c"]}}"#, ["8:47 impossibleTest"]),
            (#"{"payload":{},"expect":{"rules":["c"],"kind":"pushToApp"}}"#, ["8:61 impossibleTest"]),
            (#"{"payload":{},"expect":{"outcome":"handled","layer":"pace"}}"#, ["8:67 impossibleTest"]),
            (#"{"payload":{},"expect":{"outcome":"looped","layer":"echo"}}"#, []),
            (#"{"payload":{},"expect":{"outcome":"handled","code":"empty"}}"#, ["8:67 impossibleTest"]),
            (#"{"raw":"","expect":{"outcome":"undecodable","code":"empty","rules":[]}}"#, []),
            (#"{"raw":"","expect":{"outcome":"undecodable","kind":"pushToApp"}}"#, ["8:67 impossibleTest"]),
            (#"{"payload":{},"expect":{"outcome":"handled","handlers":[]}}"#, ["8:47 impossibleTest"]),
            (#"{"payload":{}}"#, ["8:23 emptyTest"]), (#"{"payload":{},"expect":{}}"#, ["8:23 emptyTest"]),
            ("", ["8:2 emptyTest"]),
            (#"{"payload":{},"transport":"mqtt","expect":{"rules":[]}}"#, []),
            (#"{"payload":{},"transport":"mqqt","expect":{"rules":[]}}"#, ["8:49 unknownTransport"]),
            (#"{"payload":{},"transport":"pigeon","expect":{"rules":[]}}"#, ["8:49 unknownTransport"]),
        ])
    func tests(step: String, expected: [String]) throws {
        let tests = #"[{"name":"t","steps":[\#(step)]}]"#
        let text = rules.dropLast("[]}".count) + "\n\(tests)}"
        let found = try LintSamples.findings(String(text)).filter { !$0.hasPrefix("4:") }
        #expect(found == expected)
    }
}
