import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// What `print` shows of things that one looks at while an agent runs.
struct DescriptionTests {
    @Test("metrics print non-zero counts, and names cannot forge a line")
    func metrics() async {
        let receiver = PushReceiver()
        #expect("\(receiver.metrics)" == "no messages")
        receiver.onPushToUser(id: "a\nb", options: .continue) { _, _ in }
        receiver.onPushToUser(id: "failing") { _, _ in throw TestError() }
        receiver.onPushToApp(id: "idle") { _, _ in }
        for _ in 0..<2 { _ = await receiver.receive(PayloadFixture.pushToUser().payload(.long)) }
        #expect(
            "\(receiver.metrics)" == """
                failed (handler): 2
                route a\\nb: 1 handled
                route failing: 2 failed
                """)
        #expect(receiver.metrics.routes.last?.description == "route idle: nothing")
    }

    @Test("a dead letter shows its number, its reason, its routes and its size, and nothing of its payload")
    func letter() {
        let payload = RawPayload("secret", transport: .mqtt)
        let letter = DeadLetter(payload: payload, reason: .failed, routes: ["a", "b"], arrivedAt: .seconds(0))
        #expect("\(letter)" == "dead letter 0: failed, a b, 6 bytes" && letter.receivedAt == nil)
        let none = DeadLetter(payload: payload, reason: .killSwitch, routes: [], arrivedAt: .seconds(0))
        #expect("\(none)" == "dead letter 0: killSwitch, no route, 6 bytes")
    }

    @Test(
        "a message shows on one line what it is, what it is about, who sent it, when and how large it is",
        arguments: [
            (
                #"{"bucketID":"b\n","objectID":"o-1","objectScopeType":"APP","type":"DATA_OBJECT_UPDATED","sender":"th.1","#
                    + #""when":1403844866395,"secret":"x"}"#,
                "Push to App DATA_OBJECT_UPDATED, bucket b\\n, object o-1, from thing th.1, sent 2014-06-27T04:54:26.395Z, "
                    + "mqtt payload, 138 bytes"
            ),
            (#"{"topic":"t","secret":"x"}"#, "Push to User, topic t, mqtt payload, 26 bytes"),
            (#"{"topic":"t","bucketID":"b"}"#, "Push to App, ambiguous, bucket b, mqtt payload, 28 bytes"),
            (
                #"{"senderURI":"kiicloud://admins/APP_ADMIN","when":9e18}"#,
                "Direct Push, from admin APP_ADMIN, sent 9000000000000000000, mqtt payload, 55 bytes"
            ),
        ])
    func message(payload: String, line: String) throws {
        let message = try PushMessage(json: payload, over: .mqtt)
        #expect("\(message)" == line && String(reflecting: [message]) == "[\(line)]")
        #expect(message.jsonText == payload)
        let views: [Any?] = [
            PushToAppMessage(message), BucketEvent(message), ObjectEvent(message), PushToUserMessage(message),
            TopicMessage(message), DirectPushMessage(message),
        ]
        for case let view? in views { #expect("\(view)" == line) }
    }

    @Test("data and Apple's dictionary show their JSON")
    func data() throws {
        let message = try PushMessage(json: #"{"aps":{"badge":5},"x":[1, {"b":null}],"c":"é\u000a"}"#)
        #expect("\(message.data)" == #"{"x":[1,{"b":null}],"c":"é\n"}"#)
        #expect(message.aps.map { "\($0)" } == #"{"badge":5}"#)
    }

    @Test("a payload shows its transport and its size, never what it says")
    func payload() {
        #expect("\(RawPayload("secret", transport: .mqtt))" == "mqtt payload, 6 bytes")
        #expect("\(RawPayload("x"))" == "payload, 1 byte")
        #expect("\(RawPayload("secret", transportMessageID: "secret"))" == "payload, 6 bytes")
        #expect(String(reflecting: [RawPayload("secret", transport: "a\u{1B}")]) == #"[a\u001b payload, 6 bytes]"#)
    }

    @Test("a transport shows its name, and an error on one line its code, its place and its reason")
    func names() throws {
        let known = [Transport.apns, .fcm, .jpush, .mqtt, .quickblox, Transport("radio")].map { "\($0)" }
        #expect(known == ["apns", "fcm", "jpush", "mqtt", "quickblox", "radio"])
        #expect("apns" == Transport.apns && Transport("APNS") != .apns)
        let error = try #require(throws: DecodeError.self) { try PushMessage(json: #"{"a":1,}"#) }
        #expect("\(error)" == "unexpectedCharacter at byte 7: \(error.detail)" && !error.detail.contains("\n"))
    }
}
