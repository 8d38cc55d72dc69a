import KiiPush
import KiiPushRules
import KiiPushTesting
import Testing

@testable import KiiPushTestSupport

@Suite("rules for MQTT's topics, and for gaps")
struct MQTTRulesTests {
    private static let text = #"""
        {"version": 1, "rules": [
          {"id": "set", "when": {"mqtt": {"topic": ["cmd/+/set", "put/#"], "retained": false}},
           "then": {"handler": "set"}},
          {"id": "v2", "when": {"mqtt": {"contentType": "text/*", "userProperties": {"v": "2"}}},
           "then": {"handler": "v2"}},
          {"id": "resync", "on": "gap", "when": {"transport": "mqtt", "data": {"gap": "session*"}},
           "then": {"handler": "resync"}},
          {"id": "other", "on": "gap", "then": {"handler": "other"}},
          {"id": "rest", "then": {"handler": "rest"}}
        ], "tests": [{"name": "topics and gaps", "steps": [
          {"payload": {"a": 1}, "transport": "mqtt", "mqtt": {"topic": "cmd/lamp/set"}, "expect": {"rules": ["set"]}},
          {"payload": {"a": 2}, "mqtt": {"topic": "put"}, "expect": {"rules": ["set"]}},
          {"payload": {"a": 3}, "mqtt": {"topic": "put/a", "retained": true}, "expect": {"rules": ["rest"]}},
          {"payload": {"a": 4}, "mqtt": {"topic": "x", "contentType": "text/plain", "userProperties": [["v", "2"]]},
           "expect": {"rules": ["v2"]}},
          {"payload": {"a": 5}, "expect": {"rules": ["rest"]}},
          {"gap": "sessionLost", "transport": "mqtt", "expect": {"outcome": "handled", "rules": ["resync"]}},
          {"gap": "sessionLost", "transport": "mqtt", "expect": {"outcome": "handled", "handlers": ["resync"]}},
          {"gap": "sessionLost", "transport": "stdin", "expect": {"rules": ["other"]}},
          {"gap": "firstStart", "expect": {"rules": ["other"]}},
          {"gap": "sessionUnknown", "transport": "mqtt", "fail": ["resync"], "expect": {"outcome": "failed"}}
        ]}]}
        """#

    @Test("the file's own tests hold, nothing is to be linted, and everything is covered")
    func tests() async throws {
        let rules = try RoutingRules(Self.text, file: "r.json")
        for test in try RuleSuite(rules) { try await test.run() }
        #expect(rules.lint().isEmpty, "\(rules.lint().map(\.description))")
        let coverage = try await rules.coverage()
        #expect(coverage.uncovered.allSatisfy { $0.kind == .missed }, "\(coverage.uncovered.map(\.description))")
    }

    @Test("rules for gaps and for messages do not mix, and an explanation says so")
    func explanation() throws {
        let rules = try RoutingRules(Self.text, file: "r.json")
        let gap = try PushMessage(Gap(.firstStart).payload(number: 1))
        let rest = rules.rules[4].explain(gap)
        #expect(rest.first?.name == "on" && rest.first?.holds == false && rest.first?.actual == "\"gap\"")
        let other = rules.rules[3].explain(try PushMessage(RawPayload(#"{"a":1}"#)))
        #expect(other.first?.name == "on" && other.first?.actual == "\"message\"")
        let isTaken = rules.rules[3].explain(gap).allSatisfy { $0.holds }
        #expect(isTaken)
    }

    @Test(
        "an explanation shows what the broker said",
        arguments: [
            (#"{"topic":"b"}"#, #"{"topic":"a"}"#), (#"{"contentType":"x/y"}"#, "{}"),
            (
                #"{"topic":"a","retained":true,"userProperties":{"u":"1","v":"2"}}"#,
                #"{"topic":"a","retained":false,"userProperties":{"v":"3"}}"#
            ),
        ])
    func found(condition: String, found: String) throws {
        let rules = try RoutingRules(
            #"{"version":1,"rules":[{"id":"a","when":{"mqtt":\#(condition)},"then":{"handler":"h"}}]}"#)
        var payload = RawPayload("{}", transport: .mqtt)
        var mqtt = MQTTPublish(topic: "a")
        mqtt.userProperties = [.init(name: "v", value: "3"), .init(name: "w", value: "4")]
        payload.mqtt = mqtt
        let check = try #require(rules.rules[0].explain(try PushMessage(payload)).first)
        #expect(check.actual == found && !check.holds)
        let other = rules.rules[0].explain(try PushMessage(RawPayload("{}"))).first
        #expect(other?.actual == nil && other?.reason == "nothing is known of MQTT")
    }

    @Test("a rule for a gap that nobody reports is warned of", arguments: ["session", "sesionLost", "session*"])
    func unknownGap(gap: String) throws {
        let rules = try RoutingRules(
            #"{"version":1,"rules":[{"id":"a","on":"gap","when":{"data":{"gap":"\#(gap)"}},"then":{"print":true}}]}"#)
        #expect(rules.lint().map(\.code) == (gap == "session*" ? [] : [.unknownEvent]))
    }

    @Test(
        "what cannot hold is refused with its place",
        arguments: [
            (#""when":{"mqtt":{"topic":"a#"}}"#, "expected '#' only as the last level, alone"),
            (#""when":{"mqtt":{"topic":["$share/g/a"]}}"#, "in no order"),
            (#""when":{"mqtt":{}}"#, "expected a condition, found none"),
            (#""when":{"mqtt":{"topics":"a"}}"#, "did you mean 'topic'"),
            (#""when":{"mqtt":{"retained":"yes"}}"#, "expected true or false"),
            (
                #""when":{"mqtt":{"userProperties":{"\u00e9":"1","e\u0301":"2"}}}"#,
                "is an earlier one with other bytes; leave one out"
            ),
            (#""on":"gap","when":{"bucket":"b"}"#, "a gap has no 'bucket'"),
        ])
    func wrong(part: String, what: String) throws {
        let text = #"{"version":1,"rules":[{"id":"a",\#(part),"then":{"handler":"h"}}]}"#
        let error = try #require(throws: RulesError.self) { try RoutingRules(text, file: "r.json") }
        #expect(error.problems.first?.what.contains(what) == true, "\(error)")
        #expect(error.problems.first.map { $0.position.column > 30 } == true)
    }

    @Test("a rule on commands takes those with one of its actions, and with * every Direct Push with a response topic")
    func commands() throws {
        let text = #"""
            {"version": 1, "rules": [
              {"id": "power", "when": {"command": ["turnPower", "set*"]}, "then": {"handler": "power"}},
              {"id": "any", "when": {"command": "*", "mqtt": {"topic": "cmd/#"}}, "then": {"handler": "any"}}]}
            """#
        let rules = try RoutingRules(text, file: "r.json")
        #expect(rules.lint().isEmpty, "\(rules.lint().map(\.description))")
        #expect(rules.rules[0].wanted.first?.text == #"["turnPower","set*"]"#)
        func message(_ text: String, responseTopic: String? = nil) throws -> PushMessage {
            var payload = RawPayload(text, transport: .mqtt)
            var mqtt = MQTTPublish(topic: "cmd/lamp")
            mqtt.responseTopic = responseTopic
            payload.mqtt = mqtt
            return try PushMessage(payload)
        }
        let command = #"{"commandID":"c","actions":[{"lamp":[{"dim":1},{"turnPower":true}]}]}"#
        for (message, taken) in [
            (try message(command), ["power", "any"]), (try message(#"{"a":1}"#, responseTopic: "r"), ["any"]),
            (try message(#"{"a":1}"#), []),
            (try message(command.replacing("turnPower", with: "turnpower")), ["any"]),
            (try message(#"{"topic":"t","objectScopeType":"APP"}"#, responseTopic: "r"), []),
        ] {
            let found = rules.rules.filter { $0.explain(message).allSatisfy(\.holds) }.map(\.id)
            #expect(found == taken, "\(message)")
        }
        let checks = rules.rules[0].explain(try message(#"{"a":1}"#))
        #expect(checks.first?.reason == "it is no command of Thing-IF, and has no response topic")
        let push = rules.rules[1].explain(try message(#"{"topic":"t","objectScopeType":"APP"}"#, responseTopic: "r"))
        #expect(push.first?.actual == nil && push.first?.reason == "a Push to User is no command")
        #expect(rules.rules[0].explain(try message(command)).first?.actual == #""dim, turnPower""#)
        let wrong =
            #"{"version":1,"rules":[{"id":"a","when":{"command":"x","kind":"pushToApp"},"then":{"handler":"h"}}]}"#
        let findings = try RoutingRules(wrong, file: "r.json").lint().map(\.description)
        #expect(findings.contains { $0.contains("only a Direct Push has 'command'") }, "\(findings)")
    }
}
