import Testing

@testable import KiiPush

struct NtfyTests {
    @Test(
        "recognizes ntfy's documented message", arguments: [nil, Transport.mqtt, .fcm, "http"])
    func documented(transport: Transport?) throws {
        let text = #"{"id":"sPs71M8A2T","time":1735941840,"event":"message","topic":"mytopic","message":"hi"}"#
        let message = try PushMessage(RawPayload(text, transport: transport))
        let push = try #require(ForeignPushMessage(message))
        #expect(message.kind == .directPush && message.certainty == .certain && message.topic == nil)
        #expect(message.classification.evidence == ["id", "time", "event", "topic"])
        #expect(push.format == "ntfy" && push.id == "sPs71M8A2T" && push.source == "mytopic" && push.type == "message")
        #expect(push.sentAt == 1_735_941_840_000 && push.expiresAt == nil && push.subject == nil)
        #expect(message.alert?.body == "hi" && message.alert?.title == nil)
        #expect(push.data.keys == ["id", "time", "event", "topic", "message"])
    }

    @Test("reads a message's optional members")
    func more() throws {
        let text =
            #"{"id":"a","sequence_id":"s-1","time":1735941840,"expires":1735985040,"event":"message","topic":"t","title":"T","#
            + #""message":"M","tags":["warning"],"priority":4,"click":"https://example.com"}"#
        let push = try #require(ForeignPushMessage(try PushMessage(RawPayload(text))))
        #expect(push.subject == "s-1" && push.expiresAt == 1_735_985_040_000)
        #expect(push.alert == Alert(title: "T", subtitle: nil, body: "M") && push.data["priority"]?.integer == 4)
    }

    @Test("recognizes other stream events, without an alert", arguments: ["open", "keepalive", "poll_request"])
    func stream(event: String) throws {
        let message = try PushMessage(RawPayload(#"{"id":"a","time":1,"event":"\#(event)","topic":"t"}"#))
        #expect(ForeignPushMessage(message)?.type == event && message.alert == nil)
    }

    @Test(
        "does not recognize similar objects",
        arguments: [
            #"{"id":"a","time":1,"event":"deploy","topic":"t"}"#,
            #"{"id":"a","time":"1","event":"message","topic":"t"}"#,
            #"{"id":1,"time":1,"event":"message","topic":"t"}"#, #"{"time":1,"event":"message","topic":"t"}"#,
            #"{"id":"a","time":1,"event":"message"}"#, #"{"id":"a","event":"message","topic":"t"}"#,
            #"{"id":"a","time":1,"event":"message","topic":"t","objectScopeType":"APP"}"#,
            #"{"id":"a","time":1,"event":"message","topic":"t","when":1}"#,
        ])
    func others(payload: String) throws {
        #expect(try PushMessage(RawPayload(payload)).format == nil)
    }

    @Test("times out of range are absent", arguments: ["9223372036854775807", "1e300"])
    func times(time: String) throws {
        let message = try PushMessage(RawPayload(#"{"id":"a","time":\#(time),"event":"message","topic":"t"}"#))
        #expect(message.format == "ntfy" && message.sentAt == nil)
    }
}
