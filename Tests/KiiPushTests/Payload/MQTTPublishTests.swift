import KiiPush
import KiiPushTesting
import Testing

@testable import KiiPushTestSupport

@Suite("what MQTT says beside a payload")
struct MQTTPublishTests {
    @Test(
        "a filter matches as the specification says",
        arguments: [
            ("a", "a", true), ("a", "A", false), ("a", "a/", false), ("a/b", "a", false), ("+", "a", true),
            ("+", "", true), ("+", "a/b", false), ("+/+", "/a", true), ("/+", "/a", true), ("+", "/a", false),
            ("a/+/c", "a/b/c", true), ("a/+/c", "a//c", true), ("a/+/c", "a/b/d/c", false), ("#", "a/b", true),
            ("#", "/", true), ("a/#", "a", true), ("a/#", "a/b/c", true), ("a/#", "ab", false), ("a/+/#", "a", false),
            ("a/+/#", "a/b", true), ("#", "$SYS/x", false), ("+/x", "$SYS/x", false), ("$SYS/#", "$SYS/x", true),
            ("é/+", "é/x", true), ("e\u{301}", "\u{E9}", false),
        ])
    func matches(text: String, topic: String, isMatch: Bool) throws {
        let filter = try MQTTTopicFilter(text)
        #expect(filter.matches(topic) == isMatch && "\(filter)" == text)
        #expect(filter.isTopic == !text.contains { "+#".contains($0) })
    }

    @Test(
        "refuses invalid topic filters and says what to do",
        arguments: [
            ("", "empty"), ("a/#/b", "last level"), ("a#", "alone"), ("#a", "alone"), ("a+", "whole level"),
            ("$share/g/a", "in no order"), ("a\u{0}", "control"),
            (String(repeating: "a", count: 65_536), "65535 bytes"),
        ])
    func refused(filter: String, what: String) throws {
        let problem = try #require(throws: MQTTTopicFilter.Problem.self) { try MQTTTopicFilter(filter) }
        #expect(problem.description.contains(what), "\(problem)")
    }

    /// A message with everything set.
    static let whole: MQTTPublish = {
        var publish = MQTTPublish(topic: "a/\"b\"")
        (publish.isRetained, publish.expirySeconds, publish.contentType) = (true, 5, "text/plain")
        (publish.responseTopic, publish.correlationData) = ("r", [0, 255])
        publish.userProperties = [.init(name: "a", value: "1"), .init(name: "a", value: "2")]
        return publish
    }()

    @Test("reads its own JSON back", arguments: [whole, MQTTPublish(topic: "")])
    func json(publish: MQTTPublish) {
        #expect(MQTTPublish(json: publish.json) == publish)
    }

    @Test(
        "rejects JSON of another form",
        arguments: [
            "", "1", "{}", #"{"topic":1}"#, #"{"topic":"a","retained":1}"#, #"{"topic":"a","expirySeconds":-1}"#,
            #"{"topic":"a","expirySeconds":4294967296}"#, #"{"topic":"a","contentType":null}"#,
            #"{"topic":"a","correlationData":"?"}"#, #"{"topic":"a","userProperties":[["a"]]}"#,
            #"{"topic":"a","userProperties":{"a":"b"}}"#,
        ])
    func wrong(json: String) {
        #expect(MQTTPublish(json: json) == nil)
    }

    @Test("a gap can be read back from its payload, and names its cause, transport and reason")
    func gap() throws {
        let gap = Gap(.sessionLost, transport: "mqtt", reason: "expired")
        #expect(try Gap(PushMessage(gap.payload(number: 1))) == gap && "\(gap)" == "sessionLost of mqtt: expired")
    }

    @Test("a route takes the topics, the flag and the properties that it names, and nothing of another transport")
    func pattern() async throws {
        let receiver = PushReceiver()
        let patterns: [(String, MQTTPattern)] = [
            ("set", MQTTPattern(topic: "cmd/+/set", "put/#")), ("kept", MQTTPattern(isRetained: true)),
            ("text", MQTTPattern(contentType: "text/*")), ("v2", MQTTPattern(userProperties: ["v": "2"])),
        ]
        for (id, pattern) in patterns {
            receiver.onDirectPush(id: id, mqtt: pattern) { _, context in #expect(context.mqtt != nil) }
        }
        var (kept, text, v2) = (MQTTPublish(topic: "x"), MQTTPublish(topic: "x"), MQTTPublish(topic: "x"))
        (kept.isRetained, text.contentType) = (true, "text/plain")
        v2.userProperties = [.init(name: "v", value: "2")]
        let cases: [(MQTTPublish?, [String])] = [
            (MQTTPublish(topic: "cmd/a/set"), ["set"]), (MQTTPublish(topic: "put"), ["set"]), (kept, ["kept"]),
            (text, ["text"]), (v2, ["v2"]), (MQTTPublish(topic: "cmd/set"), []), (nil, []),
        ]
        for (number, (publish, routes)) in cases.enumerated() {
            var payload = RawPayload(#"{"n":\#(number)}"#, transport: .mqtt)
            payload.mqtt = publish
            let outcome = await receiver.receive(payload)
            if case .handled(let matched) = outcome {
                #expect(matched.ids == routes)
            } else {
                #expect(outcome.name == "unrouted" && routes.isEmpty)
            }
        }
    }

    @Test("a message is handled until its expiry, whatever the route says, and then no more")
    func expiry() async throws {
        let clock = ManualClock()
        let receiver = PushReceiver(clock: clock)
        receiver.onDirectPush { _, _ in }
        for (number, waited) in [4999, 5000].enumerated() {
            var payload = RawPayload(#"{"n":\#(number)}"#, transport: .mqtt)
            payload.arrivedAt = clock.now
            payload.mqtt = MQTTPublishTests.whole
            clock.advance(by: .milliseconds(waited))
            #expect(await receiver.receive(payload).name == (waited < 5000 ? "handled" : "expired"))
        }
    }
}
