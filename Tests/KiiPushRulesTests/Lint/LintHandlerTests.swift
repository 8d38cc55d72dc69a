import KiiPush
import KiiPushRules
import Testing

/// Handlers that are missing or too many, and tests that check nothing.
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

    @Test("warns of a repeated test name, and not of delivery settings")
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
        "a test that checks nothing, or names an unknown transport, is found",
        arguments: [
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

/// Names that Kii cannot have, keys with a dot, and programs that only a shell would find.
struct LintNameTests {
    private static let long = String(repeating: "n", count: 65)

    @Test(
        "a name that Kii cannot have is an error where it is written",
        arguments: [
            (#""topic":"news/#""#, true), (#""topic":"home/+""#, true), (#""topic":"news-[0-9]+""#, true),
            (#""topic":"my news""#, true), (#""topic":"{a,b}""#, true), (#""topic":"news.*""#, true),
            (#""topic":"neuigkeiten-ä""#, true), (#""topic":"\#(long)""#, true),
            (#""topic":["news","kiicloud://topics/news"]"#, true), (#""bucket":"^rooms$""#, true),
            (#""bucket":"room?""#, true), (#""bucket":"my%20room""#, true),
            (#""bucket":"kiicloud://users/u/buckets/rooms""#, true), (#""bucket":"\#(long)*""#, true),
            (#""bucket":"b","object":"a/b""#, true), (#""bucket":"b","scopeID":"user:u""#, true),
            (#""bucket":"b","scope":"user:kiicloud://users/u""#, true), (#""topic":"t","sender":"user:a b""#, true),
            (#""topic":"*""#, false), (#""topic":["news-*","*_2"]"#, false), (#""bucket":"_states""#, false),
            (#""bucket":"\#(long.dropLast())""#, false), (#""bucket":"b","object":"o.1-2_3""#, false),
            (#""bucket":"b","object":"\#(long)*""#, false), (#""bucket":"b","scopeID":"th.1""#, false),
            (#""bucket":"b","scope":["user:727f20b00022-8d18","thing:v:1"]"#, false),
        ])
    func names(when: String, isFound: Bool) throws {
        let codes = try RoutingRules(LintSamples.file([LintSamples.rule("r", "{\(when)}")])).lint().map(\.code)
        #expect(codes == (isFound ? [.impossibleName] : []))
    }

    @Test(
        "what a rule writes or sends to has a name that Kii can have, as far as it is known",
        arguments: [
            ("kiicloud://buckets/b.c/objects/o", true), ("kiicloud://buckets/b/objects/a b", true),
            ("kiicloud://buckets/${topic}.x/objects/o", true),
            ("kiicloud://buckets/${topic}-x/objects/o.${when}", false),
        ])
    func targets(uri: String, isFound: Bool) throws {
        let then = #"{"write":{"object":"\#(uri)","fields":{"n":1}}}"#
        let text = LintSamples.file([#"{"id":"r","when":{"topic":"t"},"then":\#(then)}"#])
        #expect(try RoutingRules(text).lint().map(\.code) == (isFound ? [.impossibleName] : []))
        let declared = LintSamples.file([
            LintSamples.rule("r", #"{"topic":"t"}"#, #""writes":["kiicloud://buckets/a.b"]"#)
        ])
        #expect(try RoutingRules(declared).lint().map(\.code) == [.impossibleName])
    }

    @Test(
        "identities and served scopes that are no ids are errors, where each is written",
        arguments: [
            (#""me":["user:u","user:a b"],"#, "1:30 impossibleName"),
            (#""me":["thing:kiicloud://things/th.1"],"#, "1:21 impossibleName"),
            (#""serving":["app","group:*","user:kiicloud://users/u"],"#, "1:42 impossibleName"),
            (#""serving":["user:a *"],"#, "1:26 impossibleName"),
            (#""loop":{"writesAs":["thing:th.1","user:users/u"]},"#, "1:48 impossibleName"),
            (#""me":["user:727f20b00022-8d18","thing:th.1","admin:APP_ADMIN"],"#, nil),
            (#""serving":["app","user:*","group:g-1","thing:v:1"],"#, nil),
        ])
    func settings(text: String, finding: String?) throws {
        let file = LintSamples.file([LintSamples.rule("r", #"{"topic":"t"}"#)], settings: text)
        #expect(try LintSamples.findings(file) == (finding.map { [$0] } ?? []))
    }

    @Test("warns that a data key with a dot is one key")
    func dots() throws {
        #expect(
            try LintSamples.findings(LintSamples.file([LintSamples.rule("r", #"{"topic":"t","data":{"a.b":1}}"#)])) == [
                "3:39 dottedKey"
            ])
        let absent = LintSamples.rule("r", #"{"topic":"t","data":{"a.b":{"exists":false}}}"#)
        #expect(try LintSamples.findings(LintSamples.file([absent])).isEmpty)
    }

    @Test(
        "a program is run without a shell: what only one understands is an error",
        arguments: [
            (#"["echo hi && date"]"#, true), (#"["/usr/bin/notify-send hi"]"#, true), (#"["echo hi/there"]"#, true),
            (#"["~/bin/x"]"#, true), (#"["$HOME/bin/x"]"#, true), (#"["cat","~/x"]"#, true),
            (#"["cat","x","|","wc"]"#, true), (#"["date",">>","log"]"#, true), (#"["cat","$HOME/x"]"#, true),
            (#"["notify","${data.text}"]"#, true), (#"["notify","to ${topic}"]"#, true),
            (#"["/bin/bash","-c","echo ${data.text}"]"#, true), (#"["sh","-c","echo $topic ${when} > x"]"#, false),
            (#"["/opt/My App/run"]"#, false), (#"["sh","-c","echo hi && date > ~/x; echo $HOME"]"#, false),
            (#"["jq",".a > 3"]"#, false), (#"["awk","{print $1}"]"#, false),
            (#"["find",".","-exec","ls","{}",";"]"#, false),
            (#"["expr","1","<","2"]"#, false), (#"["notify","a & b","costs $5","${other}"]"#, false),
        ])
    func programs(run: String, isFound: Bool) throws {
        let text = LintSamples.file([#"{"id":"r","when":{"topic":"t"},"then":{"run":\#(run)}}"#])
        #expect(try RoutingRules(text).lint().map(\.code) == (isFound ? [.noShell] : []))
    }
}
