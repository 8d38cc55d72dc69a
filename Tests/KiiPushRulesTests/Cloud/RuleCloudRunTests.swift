import KiiPush
import KiiPushRules
import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPushTestSupport

/// Rules that write to Kii's cloud and send, in a receiver and in a file's own tests.
struct RuleCloudRunTests {
    private static let file = #"""
        {"version": 1, "app": "0123abcd", "me": ["thing:th.1"],
         "rules": [
          {"id": "target", "when": {"bucket": "settings", "object": "heating"}, "continue": true,
           "then": {"write": {"object": "kiicloud://things/th.1/buckets/state/objects/${object}", "fields": {"seen": true}}}},
          {"id": "tell", "when": {"bucket": "settings"},
           "then": {"send": {"topic": "kiicloud://things/th.1/topics/alerts", "data": {"text": "changed: ${bucket}"}}}}],
         "tests": [
          {"name": "a change is told each time, and written once", "steps": [
           {"payload": {"bucketID": "settings", "objectID": "heating", "type": "DATA_OBJECT_UPDATED", "when": 1,
             "objectScopeType": "APP"},
            "expect": {"outcome": "handled", "cloud": [
             {"write": {"fields": {"seen": true}, "object": "kiicloud://things/th.1/buckets/state/objects/heating"}},
             {"send": {"topic": "kiicloud://things/th.1/topics/alerts", "data": {"text": "changed: settings"}}}]}},
           {"payload": {"bucketID": "settings", "objectID": "heating", "type": "DATA_OBJECT_UPDATED", "when": 2,
             "objectScopeType": "APP"},
            "expect": {"cloud": [
             {"send": {"topic": "kiicloud://things/th.1/topics/alerts", "data": {"text": "changed: settings"}}}]}},
           {"payload": {"bucketID": "settings", "objectID": "heating", "type": "DATA_OBJECT_UPDATED", "when": 3,
             "objectScopeType": "APP"}, "fail": ["target", "tell"],
            "expect": {"outcome": "failed", "cloud": []}}]}]}
        """#

    @Test("a file's own tests say what is to be written and sent; a write that changes nothing is not done")
    func ownTests() async throws {
        let rules = try RoutingRules(Self.file)
        let runner = try RuleTestRunner(rules)
        let result = await runner.run(rules.tests[0])
        #expect(result.failures.isEmpty, "\(result.failures)")
        #expect(result.cloud.map(\.step) == [1, 1, 2])
    }

    @Test("a test that expects something else fails, and says what would be done")
    func failingTest() async throws {
        let other = Self.file.replacing("changed: settings\"", with: "changed: nothing\"")
        let rules = try RoutingRules(other, file: "r.json")
        let result = await (try RuleTestRunner(rules)).run(rules.tests[0])
        #expect(result.failures.map(\.key) == ["cloud", "cloud"])
        #expect(
            result.failures.last?.what
                == #"cloud: expected [{"send":{"topic":"kiicloud://things/th.1/topics/alerts","data":{"text":"changed: nothing"}}}], "#
                + #"found [{"send":{"topic":"kiicloud://things/th.1/topics/alerts","data":{"text":"changed: settings"}}}]"#
        )
    }

    @Test(
        "what is expected of the cloud is read strictly",
        arguments: [#"{}"#, #"[1]"#, #"[{}]"#, #"[{"put":{}}]"#, #"[{"write":1}]"#])
    func expectation(cloud: String) {
        let step = #"{"payload":{},"expect":{"cloud":\#(cloud)}}"#
        let text = #"{"version":1,"rules":[],"tests":[{"name":"n","steps":[\#(step)]}]}"#
        #expect(!RulesSamples.problems(text).isEmpty)
    }

    @Test("the event of a rule's own write is dropped in a test as on a device")
    func echo() async throws {
        let test = try TestReceiver(
            rules: RoutingRules(
                #"""
                {"version":1,"rules":[{"id":"r","when":{"bucket":"b","object":"*"},
                 "then":{"write":{"object":"kiicloud://buckets/b/objects/${object}","fields":{"seen":true}}}}]}
                """#))
        let push = PayloadFixture.pushToApp(bucket: "b", object: "o", sender: nil, sentAt: 1, modifiedAt: nil)
        #expect(await test.send(push).cloud.count == 1)
        let own = PayloadFixture.pushToApp(bucket: "b", object: "o", sender: nil, sentAt: 2, modifiedAt: nil)
        #expect(await test.send(own).outcome.description == "looped (echo)")
    }

    @Test("rules that call the cloud are refused with their place where nobody calls it")
    func refused() throws {
        struct Printing: RuleActions {
            func run(_ arguments: [String], for message: PushMessage, _ context: HandlerContext) async throws {}
            func print(_ message: PushMessage, _ context: HandlerContext) async throws {}
        }
        for actions in [nil, Printing()] as [(any RuleActions)?] {
            let error = #expect(throws: RulesError.self) {
                try PushReceiver().load(RoutingRules(Self.file, file: "r.json"), actions: actions)
            }
            #expect(error?.problems.map(\.position.line) == [4, 6])
            #expect(error?.problems.first?.what.contains("load the rules with actions that have a 'cloud'") == true)
        }
    }
}
