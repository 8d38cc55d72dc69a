import KiiPush
import KiiPushRules
import Testing

@testable import KiiPushTestSupport

/// What the lint says of one rule, and where; and what it must not say.
struct LintConditionTests {
    /// Column of the first key of `when` in a rule with the id `r`: `{"id":"r","when":{` has 18 bytes.
    @Test(
        "conditions that no message meets are errors at their place",
        arguments: [
            (#"{"bucket":"b","topic":"t"}"#, ["3:32 neverMatches"]),
            (#"{"topic":"t","object":"o"}"#, ["3:31 neverMatches"]),
            (#"{"format":"ntfy","topic":"t"}"#, ["3:35 neverMatches"]),
            (#"{"bucket":"b","command":"*"}"#, ["3:32 neverMatches"]),
            (#"{"kind":"directPush","bucket":"b"}"#, ["3:39 neverMatches"]),
            (#"{"kind":["directPush","pushToApp"],"topic":"t"}"#, ["3:53 neverMatches"]),
            (#"{"kind":"pushToApp","certainty":"likely"}"#, ["3:38 neverMatches"]),
            (#"{"topic":"t","certainty":"likely"}"#, ["3:31 neverMatches"]),
            (#"{"bucket":"b","certainty":["likely"]}"#, ["3:32 neverMatches"]),
            (#"{"kind":"directPush","scope":"user:U1"}"#, ["3:39 neverMatches"]),
            (#"{"kind":"directPush","scopeID":"U1"}"#, ["3:39 neverMatches"]),
            (#"{"scopeID":"U","kind":"directPush","certainty":"likely"}"#, ["3:19 neverMatches"]),
            (#"{"scope":"APP","scopeID":"U1"}"#, ["3:33 neverMatches"]),
            (#"{"scope":"user:U1","scopeID":"U2"}"#, ["3:37 neverMatches"]),
            (#"{"topic":"t","data":{"n":{"equals":"a","prefix":"b"}}}"#, ["3:39 neverMatches"]),
            (#"{"topic":"t","data":{"n":{"exists":false,"equals":1}}}"#, ["3:39 neverMatches"]),
            (#"{"topic":"t","data":{"n":{"anyOf":[1,2],"greater":7}}}"#, ["3:39 neverMatches"]),
            (#"{"topic":"t","data":{"n":{"equals":21.0,"not":2.1e1}}}"#, ["3:39 neverMatches"]),
            (#"{"topic":"t","data":{"aps":"x"}}"#, ["3:39 neverMatches"]),
            (#"{"transport":["unix","fcm"],"mqtt":{"topic":"t"}}"#, ["3:46 neverMatches"]),
        ])
    func never(when: String, expected: [String]) throws {
        let found = try LintSamples.findings(LintSamples.file([LintSamples.rule("r", when)]))
        #expect(found.filter { $0.hasSuffix("neverMatches") } == expected)
    }

    @Test(
        "conditions that some message meets are not reported",
        arguments: [
            #"{"bucket":"b","object":"o"}"#, #"{"kind":"directPush","certainty":"likely"}"#,
            #"{"kind":"pushToUser","certainty":"likely"}"#, #"{"scope":"APP","certainty":"likely"}"#,
            #"{"scope":"APP","kind":"directPush"}"#, #"{"certainty":"likely"}"#,
            #"{"kind":["directPush","pushToApp"],"bucket":"b"}"#,
            #"{"kind":"pushToUser","certainty":["likely","ambiguous"]}"#,
            #"{"scope":["APP","APP_AND_USER"],"scopeID":"U1"}"#, #"{"scope":"user:U*","scopeID":"*2"}"#,
            #"{"transport":["unix","mqtt"],"mqtt":{"topic":"t"}}"#, #"{"transport":"own","mqtt":{"topic":"t"}}"#,
            #"{"scope":"*"}"#, #"{"kind":"directPush","scope":"user:U1","certainty":"ambiguous"}"#,
            #"{"kind":["directPush","pushToUser"],"scope":"user:U1"}"#,
            #"{"topic":"t","data":{"n":{"greater":5,"less":5.001}}}"#,
            #"{"topic":"t","data":{"n":{"greater":-1e2,"prefix":"-"}}}"#,
            #"{"topic":"t","data":{"n":{"prefix":"a","suffix":"b"}}}"#,
            #"{"topic":"t","data":{"n":{"prefix":"aa","suffix":"aa"}}}"#,
            #"{"topic":"t","data":{"n":{"not":{"exists":true}}}}"#,
            #"{"topic":"t","data":{"n":{"equals":30,"prefix":"3"}}}"#,
            #"{"topic":"t","data":{"n":{"equals":21,"not":"21"}}}"#,
            #"{"topic":"t","data":{"n":["x",{"not":"y"}]}}"#,
            #"{"topic":"t","data":{"aps":{"exists":false}}}"#,
            #"{"bucket":"b","events":"DATA_OBJECT_BODY_UPDATE"}"#,
            #"{"bucket":"b","events":"DATA_*","transport":"mqtt"}"#, #"{"topic":"t","events":"MY_EVENT"}"#,
            #"{"bucket":"b","data":{"n":{"exists":false}}}"#, #"{"transport":"carrier-pigeon"}"#,
            #"{"bucket":["a*","b*"]}"#, #"{"sender":["user:1","thing:1"]}"#,
        ])
    func fine(when: String) throws {
        #expect(try LintSamples.findings(LintSamples.file([LintSamples.rule("r", when)])) == [])
    }

    @Test(
        "what works and is probably not meant is a warning",
        arguments: [
            (#"{"kind":["pushToApp","pushToUser","directPush"]}"#, ["3:19 alwaysHolds"]),
            (#"{"topic":"t","data":{"n":[{"exists":true},{"exists":false}]}}"#, ["3:39 alwaysHolds"]),
            (#"{"bucket":"b","events":"DATA_OBJECT_CREATD"}"#, ["3:32 unknownEvent"]),
            (#"{"transport":"mqt"}"#, ["3:19 unknownTransport"]),
            (#"{"bucket":"b","data":{"n":1}}"#, ["3:40 dataOfPushToApp"]),
        ])
    func warnings(when: String, expected: [String]) throws {
        let text = LintSamples.file([LintSamples.rule("r", when)])
        #expect(try LintSamples.findings(text) == expected)
        #expect(try RoutingRules(text).lint().allSatisfy { $0.severity == .warning })
    }

    @Test("finds scopes that are not served, own senders, and own users that are served")
    func settings() throws {
        let text = LintSamples.file(
            [
                LintSamples.rule("a", #"{"topic":"t","scope":"group:G"}"#),
                LintSamples.rule("b", #"{"topic":"t","scope":["group:G","user:U1"]}"#),
                LintSamples.rule("c", #"{"bucket":"b","scopeID":"U2"}"#),
                LintSamples.rule("d", #"{"bucket":"b","sender":["user:U1","thing:th.1"]}"#),
                LintSamples.rule("e", #"{"bucket":"b","sender":["user:U1","thing:th.2"]}"#),
                LintSamples.rule("f", #"{"bucket":"b","sender":"user:U1*"}"#),
                LintSamples.rule("g", #"{"kind":"directPush"}"#),
            ], settings: #""me":["thing:th.1","user:U1"],"serving":["app","user:U1"],"#)
        #expect(
            try LintSamples.findings(text) == [
                "1:34 identityServed", "3:31 notServed", "5:32 notServed", "6:32 onlyOwnMessages",
            ])
    }

    @Test("says when there are too many scope patterns to compare; names are always compared")
    func manyScopes() throws {
        func list(_ text: String, _ end: String) -> String {
            "[\((0..<1_500).map { "\"\(text)\($0)\(end)\"" }.joined(separator: ","))]"
        }
        func finding(_ end: String, _ serving: String) throws -> String? {
            let text = LintSamples.file(
                [LintSamples.rule("a", #"{"topic":"t","scope":\#(list("user:b", end))}"#)],
                settings: #""serving":\#(serving),"#)
            return try LintSamples.findings(text).first
        }
        #expect(try finding("", list("user:a", "")) == "3:31 notServed")
        #expect(try finding("*", list("user:a", "*")) == "1:1 notAllCompared")
        #expect(try finding("*", #"["user:a*"]"#) == "3:31 notServed")
        #expect(try finding("", #"["user:a*","user:b1499"]"#) == nil)
    }

    @Test("a finding prints as compilers do, with what to do, and shows control characters of the file as escapes")
    func description() throws {
        let text = LintSamples.file([
            LintSamples.rule("first", "{}"), LintSamples.rule("sec\\u202eond", #"{"bucket":"ab"}"#),
        ])
        let finding = try #require(try RoutingRules(text, file: "r.json").lint().first)
        #expect(finding.rule == "sec\u{202E}ond" && finding.severity == .error)
        #expect(finding.related.map(\.position.description) == ["3:1"])
        #expect(
            finding.description.hasPrefix("r.json:4:1: error: the rule 'sec")
                && finding.description.hasSuffix(
                    "never takes a message: the earlier rule 'first' (3:1) takes them all; put it before, or give that one \"continue\": true [shadowed]"
                ))
    }
}
