import KiiPush
import Testing

@testable import KiiPushAgent
@testable import kiipush

@Suite("kiipush rules explain")
struct RulesExplainToolTests {
    private static let rules = """
        {"version": 1, "serving": ["app", "user:U1"], "rules": [
         {"id": "audit", "when": {"bucket": "*"}, "then": {"print": true}, "continue": true},
         {"id": "eco", "when": {"bucket": "settings", "sender": "thing:*"}, "then": {"handler": "eco"}},
         {"id": "reload", "when": {"bucket": "settings", "events": "DATA_OBJECT_UPDATED"}, "then": {"handler": "h"}},
         {"id": "rest", "then": {"handler": "h"}}]}
        """
    private static let payload =
        #"{"bucketID":"settings","objectScopeType":"APP","objectID":"o-1","type":"DATA_OBJECT_UPDATED","sender":"U9"}"#

    private func explain(_ rules: String = rules, _ options: String...) async throws -> ToolRun {
        let file = try TemporaryFile(rules, name: "r.json")
        return await ToolRun(["rules", "explain", file.path] + options)
    }

    @Test("the text tells rule by rule what is wanted and what there is, and what came of it")
    func text() async throws {
        let run = try await explain(Self.rules, "--text", Self.payload)
        #expect(run.code == .fine && run.errors.isEmpty)
        let start = try #require(run.output.firstIndex { $0.hasSuffix("4 rules, the first that matches wins") })
        #expect(run.output.first == "text: Push to App, certain: the payload has bucketID")
        #expect(
            run.output[(start + 1)...].joined(separator: "\n") == #"""
                  2:2  audit   TAKES IT: the message is printed; the next ones may try too
                       ok    bucket  wants "*"  has "settings"
                  3:2  eco     near miss: only sender does not fit
                       ok    bucket  wants "settings"  has "settings"
                       miss  sender  wants "thing:*"   has "user:U9"
                  4:2  reload  TAKES IT: the handler 'h' is called
                       ok    bucket  wants "settings"             has "settings"
                       ok    events  wants "DATA_OBJECT_UPDATED"  has "DATA_OBJECT_UPDATED"
                  1 later rule is not tried, since 'reload' does not "continue" (--all shows it)

                the way through the receiver
                  decode         Push to App, certain
                  route          audit, reload
                  Deduplicator   pass
                  LoopGuard      pass
                  ScopeFilter    pass
                  handle audit   handled
                  handle reload  handled

                outcome: handled: the message is printed, then the handler 'h' is called
                """#)
        let all = try await explain(Self.rules, "--all", "--text", Self.payload)
        #expect(all.output.contains("  5:2  rest    not tried; it would fit"))
    }

    @Test("a message that nothing takes comes with the rule that would, but for one condition")
    func unrouted() async throws {
        let rules =
            #"{"version":1,"rules":[{"id":"r","when":{"kind":"pushToApp","bucket":"b"},"then":{"handler":"h"}}]}"#
        let run = try await explain(rules, "--text", #"{"bucketID":"b","objectID":"o"}"#)
        #expect(run.code == .fine)
        #expect(
            run.output.suffix(2) == [
                "outcome: unrouted (noRoute): no rule matches",
                "hint: 'r' (1:23) would take it, but wants bucket \"b\", and the message has nothing: the payload names it, but states no complete scope",
            ])
    }

    @Test(
        "the outcome is told in words",
        arguments: [
            (
                #"{"bucketID":"settings","objectScopeType":"APP_AND_USER","objectScopeUserID":"U2"}"#,
                "outcome: refused (scope): its scope is incomplete, unknown, or not listed under 'serving'"
            ),
            (
                #"{"bucketID":"settings","objectScopeType":"APP","objectScopeAppID":"other"}"#,
                "outcome: refused (app): the payload belongs to another app"
            ),
            (
                #"{"topic":"t","bucketID":"x"}"#,
                "outcome: unrouted (ambiguous): it contradicts itself, and the rule that would match requires a certain or likely kind"
            ),
        ])
    func outcomes(payload: String, expected: String) async throws {
        let run = try await explain(Self.rules, "--app", "mine", "--text", payload)
        #expect(run.output.contains(expected), "\(run.output)")
    }

    private static let ages = """
        {"version": 1, "rules": [
         {"id": "door", "when": {"topic": "*"}, "then": {"handler": "open"}, "delivery": {"maxAge": "30s"}, "continue": true},
         {"id": "log", "when": {"topic": "log"}, "then": {"print": true}}]}
        """

    @Test("a time in seconds is pointed out")
    func seconds() async throws {
        let late = try await explain(
            Self.ages, "--now", "1795641001000",
            "--text", #"{"topic":"door","objectScopeType":"APP","when":1795641000}"#)
        let unit = "its 'when' is probably in seconds, not milliseconds"
        #expect(late.output.last?.hasSuffix("no handler is called, but \(unit)") == true, "\(late.output)")
        #expect(late.output.contains { $0.contains("maxAge 30s; \(unit)") })
    }

    @Test("a key with a dot is told to look into no value, where the payload has the value that it means")
    func dottedKeys() async throws {
        let rules = """
            {"version": 1, "rules": [
             {"id": "hot", "when": {"data": {"temp.value": {"greater": 20}}}, "then": {"print": true}}]}
            """
        for (data, place, pointer) in [
            (#""temp":{"value":21}"#, "'value' is inside 'temp'", "/temp/value"),
            (#""temp":"{\"value\":21}""#, "'value' is inside 'temp'", "/temp/value"),
            (#""data":{"temp":{"value":21}}"#, "'value' is inside 'data.temp'", "/data/temp/value"),
            (#""data":{"temp.value":21}"#, "it is inside 'data'", "/data/temp.value"),
            (#""a":"{\"b\":{\"temp.value\":21}}""#, "it is inside 'a.b'", "/a/b/temp.value"),
        ] {
            let run = try await explain(rules, "--text", #"{"topic":"t","objectScopeType":"APP",\#(data)}"#)
            let reason = "has nothing: \(place); write \"\(pointer)\""
            #expect(run.output.contains { $0.contains("data 'temp.value'") && $0.hasSuffix(reason) }, "\(run.output)")
        }
        let none = try await explain(rules, "--text", #"{"topic":"t","objectScopeType":"APP","temp":{"x":21}}"#)
        #expect(none.output.contains { $0.hasSuffix("has nothing") }, "\(none.output)")
    }

    @Test("what is too old for a rule is told with its age, at the present or at a given time")
    func age() async throws {
        func payload(_ topic: String) -> String {
            #"{"topic":"\#(topic)","objectScopeType":"APP","when":1700000000000}"#
        }
        let expired = "outcome: expired: it is older than 'maxAge' allows, so no handler is called"
        let old = try await explain(Self.ages, "--now", "1700000031000", "--text", payload("door"))
        #expect(old.code == .fine && old.output.contains(expired), "\(old.output)")
        #expect(old.output.contains("  handle door   expired: 31s old, maxAge 30s"))
        #expect(
            old.output.contains {
                $0.hasSuffix("door  TAKES IT, and does nothing: it is older than 'maxAge'; the next ones may try too")
            })
        #expect(try await explain(Self.ages, "--text", payload("door")).output.contains(expired))
        let new = try await explain(Self.ages, "--now", "1700000030000", "--text", payload("door"))
        #expect(new.output.contains("outcome: handled: the handler 'open' is called"))
        let both = try await explain(Self.ages, "--now", "1700000031000", "--text", payload("log"))
        #expect(both.output.contains("outcome: handled: the message is printed"))
        let json = try await explain(Self.ages, "--format", "json", "--now", "1700000031000", "--text", payload("log"))
        #expect(json.output[0].contains(#""handlers":["log"],"expired":["door"],"#))
        let wrong = try await explain(Self.ages, "--now", "today", "--text", payload("door"))
        #expect(wrong.code == .usage)
        #expect(wrong.errors[0].contains("--now takes milliseconds since 1970, as 'when' has them, not 'today'"))
    }

    @Test("nothing of a payload or of a rule's name moves the terminal's cursor")
    func hostile() async throws {
        let rules = #"{"version":1,"rules":[{"id":"r\u202e","when":{"bucket":"\u001b[2J"},"then":{"handler":"h"}}]}"#
        let run = try await explain(rules, "--text", #"{"bucketID":"\u001b[31m\u202e\n","objectScopeType":"APP"}"#)
        for line in run.output {
            #expect(!line.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x202E || $0.value == 0x9B })
        }
        #expect(run.output.contains { $0.contains(#"wants "\u001b[2J"  has "\u001b[31m\u{202E}\n""#) })
    }

    @Test("what Apple's logs print of a payload is read as inspect reads it, and its errors have the same form")
    func description() async throws {
        let rules =
            #"{"version":1,"rules":[{"id":"r","when":{"bucket":"b","transport":"apns"},"then":{"print":true}}]}"#
        let run = try await explain(rules, "--text", "push: { bi = b; st = APP; }")
        #expect(run.code == .fine && run.output.contains { $0.contains("TAKES IT") }, "\(run.output)\(run.errors)")
        for text in ["{ bi = b; sc APP; }", #"12:00 got {"bi":"b"}"#, #"{"bi":}"#] {
            let file = try TemporaryFile("\n" + text)
            let explained = try await explain(rules, file.path)
            let inspected = await ToolRun("inspect", file.path)
            #expect(explained.code == .failed && explained.errors == inspected.errors, "\(explained.errors)")
        }
        let large = try TemporaryFile(String(repeating: " ", count: PayloadLimits.standard.bytes + 1))
        #expect(try await explain(rules, large.path).errors == ToolRun("inspect", large.path).errors)
    }

    @Test("a transport that was not given has the option that gives it as its reason")
    func noTransport() async throws {
        let rules = #"""
            {"version":1,"rules":[{"id":"r","when":{"transport":"mqtt","not":{"transport":"apns"}},"then":{"print":true}}]}
            """#
        let run = try await explain(rules, "--text", #"{"n":1}"#)
        let told = run.output.filter { $0.hasSuffix("has nothing: none was given; use --transport") }
        #expect(told.count == 3 && told[1].contains("miss  not/transport"), "\(run.output)")
    }

    @Test("as JSON it is one object that holds every check")
    func json() async throws {
        let run = try await explain(Self.rules, "--format", "json", "--text", Self.payload)
        let line = try #require(run.output.first)
        #expect(run.output.count == 1 && DataValue(json: line) != nil)
        for part in [
            #""kind":"pushToApp","certainty":"certain","evidence":["bucketID"],"conflicts":[]"#,
            #"{"id":"eco","line":3,"column":2,"standing":"missed","nearMiss":true,"checks":[{"name":"bucket","key":null,"expected":"settings","actual":"settings","isThere":true,"holds":true},{"name":"sender","key":null,"expected":"thing:*","actual":"user:U9","isThere":true,"holds":false}"#,
            #"{"id":"rest","line":5,"column":2,"standing":"notTried""#, #"{"name":"LoopGuard","verdict":"pass"}"#,
            #""outcome":"handled","reason":null,"matched":["audit","reload"],"handlers":["audit","h"]"#,
        ] {
            #expect(line.contains(part), "\(part) is missing in \(line)")
        }
    }

    @Test("what cannot be read is reported with its place, and exits with 1")
    func unreadable() async throws {
        let broken = try await explain(Self.rules, "--text", #"{"bucketID""#)
        #expect(broken.code == .failed && broken.output.isEmpty)
        #expect(broken.errors.count == 1 && broken.errors[0].hasPrefix("text:1:12: unexpectedEnd: "))
        let json = try await explain(Self.rules, "--format", "json", "--text", "{")
        #expect(json.output.first?.hasPrefix(#"{"source":"text","error":{"code":"unexpectedEnd","#) == true)
        let missing = try await explain(Self.rules, "/nowhere/p.json")
        #expect(missing.errors == ["/nowhere/p.json: cannot be read: No such file or directory"])
        let forgotten = try await explain(Self.rules, Self.payload)
        #expect(forgotten.code == .failed && !forgotten.errors[0].contains("settings"))
        let payload = try TemporaryFile(Self.payload)
        #expect(try await explain(Self.rules, payload.path).code == .fine)
    }
}
