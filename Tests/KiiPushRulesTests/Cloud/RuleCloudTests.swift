import KiiPush
import KiiPushRules
import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPushTestSupport

/// Rules that write to Kii's cloud and send: how they are read and filled in.
struct RuleCloudReadingTests {
    private static func file(_ then: String, me: String = #""me":["thing:th.1"],"#) -> String {
        #"{"version":1,\#(me)"rules":[{"id":"r","then":\#(then)}]}"#
    }

    private static func write(_ object: String = "buckets/b/objects/o", fields: String = #"{"n":1}"#) -> String {
        #"{"write":{"object":"kiicloud://\#(object)","fields":\#(fields)}}"#
    }

    private static func send(_ topic: String) -> String {
        #"{"send":{"topic":"kiicloud://things/th.1/topics/\#(topic)","data":{"x":"${data.v}"}}}"#
    }

    @Test(
        "writes and pushes with placeholders are accepted",
        arguments: [
            #"{"write":{"object":"kiicloud://buckets/b/objects/o","fields":{"n":1,"on":true,"x":null,"l":[{"a":"b"}]}}}"#,
            #"{"write":{"object":"kiicloud://users/${scopeID}/buckets/CRYPTO:${bucket}/objects/a-${data.x y}","#
                + #""fields":{"t":"${data.t|number}","u":"$${no} $ {","v":"${when}${event}${senderID}"},"replace":true}}"#,
            #"{"send":{"topic":"kiicloud://topics/t","as":"admin:APP_ADMIN","data":{"text":"${data.text}"}}}"#,
            #"{"send":{"topic":"kiicloud://groups/g/topics/${topic}","data":{"n":1},"sendSender":false,"#
                + #""apns":{"alert":{"body":"${object}"}},"mqtt":{"enabled":true}}}"#,
        ])
    func accepted(then: String) throws {
        #expect(try RoutingRules(Self.file(then)).rules.count == 1)
    }

    @Test(
        "reports each mistake at its place",
        arguments: [
            (#"{"write":1}"#, "expected an object with object and fields, found a number"),
            (#"{"write":{"fields":{"n":1}}}"#, "the key 'object' is missing"),
            (#"{"write":{"object":"kiicloud://buckets/b/objects/o"}}"#, "the key 'fields' is missing"),
            (write("buckets/b"), "expected the kiicloud:// URI of an object, found 'kiicloud://buckets/b'"),
            (write("admins/a/buckets/b/objects/o"), "the kiicloud:// URI of an object, found 'kiicloud://admins/a/"),
            (write(fields: "{}"), "expected at least one field"),
            (write(fields: #"{"_kl":"x"}"#), "a field whose name begins with '_' belongs to Kii or to the loop guard"),
            (write("buckets/${bukket}/objects/o"), "unknown field 'bukket'; did you mean 'bucket'?"),
            (write(fields: #"{"n":{"m":["${data.a"]}}"#), "a '${' without '}'; write '$${' for the two characters"),
            (write(fields: #"{"n":"${data.a|int}"}"#), "unknown form 'int'; known: text, number, bool"),
            (#"{"send":{"data":{}}}"#, "the key 'topic' is missing"),
            (
                #"{"send":{"topic":"kiicloud://buckets/b","data":{}}}"#,
                "expected the kiicloud:// URI of a topic, found 'kiicloud://buckets/b'"
            ),
            (#"{"send":{"topic":"kiicloud://topics/t","dta":{}}}"#, "dta: unknown key 'dta'; did you mean 'data'?"),
            (#"{"send":{"topic":"kiicloud://topics/t","apns":{"badge":"x"}}}"#, "apns.badge: expected a whole number"),
            (#"{"send":{"topic":"kiicloud://topics/t","as":"me","data":{}}}"#, "expected an identity: \"user:ID\""),
        ])
    func problems(then: String, expected: String) {
        let found = RulesSamples.problems(Self.file(then))
        #expect(found.count == 1 && found.first?.contains(expected) == true, "\(found)")
    }

    @Test("the sender is the first of 'me', else of 'writesAs', and required without them")
    func sender() throws {
        let then = #"{"send":{"topic":"kiicloud://topics/t","data":{}}}"#
        func sender(_ me: String) throws -> Sender? {
            guard case .send(let push) = try RoutingRules(Self.file(then, me: me)).rules[0].action else { return nil }
            return push.sender
        }
        #expect(try sender(#""me":["thing:th.1","user:u"],"#) == .thing(id: "th.1"))
        #expect(try sender(#""loop":{"writesAs":["user:u"]},"#) == .user(id: "u"))
        let problems = RulesSamples.problems(Self.file(then, me: ""))
        #expect(problems.first?.contains("expected who sends: add \"as\"") == true)
    }

    @Test("a problem's place is that of the value, also within the body of a push")
    func place() {
        let text = Self.file(#"{"send":{"topic":"kiicloud://topics/t","data":{"a":1,"a":2}}}"#)
        let column = text.utf8.count - #""a":2}}}}]}"#.utf8.count + 1
        #expect(RulesSamples.problems(text).first?.hasPrefix("1:\(column): ") == true, "\(RulesSamples.problems(text))")
    }

    /// What a rule does for a message, or why it fails.
    private func done(_ then: String, _ payload: String) async throws -> String {
        let test = try TestedRule(then)
        let receipt = await test.receiver.send(RawPayload(payload))
        return receipt.cloud.first?.description ?? "\(receipt.outcome)"
    }

    @Test(
        "a lone placeholder keeps the type of its value; within a text it becomes text",
        arguments: [
            (#""${data.n}""#, #"7"#), (#""${data.n|text}""#, #""7""#), (#""${data.s}""#, #""8""#),
            (#""${data.s|number}""#, "8"), (#""${data.b}""#, "true"), (#""${data.b|text}""#, #""true""#),
            (#""${data.zero|bool}""#, "false"), (#""<${data.n}${data.b}>""#, #""<7true>""#),
            (#"["${topic}",{"a":"${scopeID}"}]"#, #"["t",{"a":"u-1"}]"#), (#""$${data.n}""#, #""${data.n}""#),
            (#""${when}""#, "1700000000033"), (#""${senderID}""#, #""u-2""#),
        ])
    func filled(value: String, expected: String) async throws {
        let then = Self.write(fields: #"{"v":\#(value)}"#)
        #expect(try await done(then, TestedRule.payload) == Self.write(fields: #"{"v":\#(expected)}"#))
    }

    @Test(
        "a message without the value fails",
        arguments: [
            #""${data.none}""#, #""${data.null}""#, #""${bucket}""#, #""${data.b|number}""#, #""${data.s|bool}""#,
        ])
    func missing(value: String) async throws {
        #expect(try await done(Self.write(fields: #"{"v":\#(value)}"#), TestedRule.payload) == "failed (r)")
    }

    @Test(
        "what the agent refuses before it sends anything fails in a test too",
        arguments: [
            (send("${data.place}"), "a/b", "1"), (send("${data.place}"), "t", #"{"n":1}"#),
            (send("${data.place}"), "t", #""\#(String(repeating: "x", count: 5000))""#),
            (write("buckets/b/objects/${data.place}"), "", "1"), (write("buckets/b/objects/${data.place}"), "..", "1"),
        ])
    func refused(then: String, place: String, value: String) async throws {
        func payload(_ place: String, _ value: String) -> String {
            #"{"topic":"t","objectScopeType":"APP","when":1,"place":"\#(place)","v":\#(value)}"#
        }
        #expect(try await done(then, payload(place, value)) == "failed (r)")
        #expect(try await done(then, payload("t", "1")).hasPrefix("{"), "other values are not refused")
    }

    @Test("a value that is filled into a URI stays within its part")
    func slash() async throws {
        let test = try TestedRule(Self.write("buckets/b/objects/${data.path}"))
        let receipt = await test.receiver.send(RawPayload(TestedRule.payload))
        guard case .write(let uri, _, _)? = receipt.cloud.first else { return #expect(Bool(false)) }
        let named = KiiURI.Resource.object(bucket: "b", isEncrypted: false, id: "../../users/u")
        #expect(uri == KiiURI(owner: .app, resource: named))
    }
}

/// One rule without conditions in a receiver of its own, and a payload for it.
struct TestedRule {
    let receiver: TestReceiver

    init(_ then: String, settings: String = #""me":["thing:th.1"],"#) throws {
        receiver = try TestReceiver(
            rules: RoutingRules(#"{"version":1,\#(settings)"rules":[{"id":"r","then":\#(then)}]}"#))
    }

    static let payload = #"""
        {"topic":"t","objectScopeType":"APP_AND_USER","objectScopeUserID":"u-1","sender":"u-2","when":1700000000033,
         "n":7,"s":"8","b":true,"zero":0,"null":null,"path":"../../users/u"}
        """#
}

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
