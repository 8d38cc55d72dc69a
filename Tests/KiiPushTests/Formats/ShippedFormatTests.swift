import Testing

@testable import KiiPush

struct CloudEventsTests {
    private func event(_ members: String, over transport: Transport? = nil) throws -> ForeignPushMessage? {
        let payload = #"{"specversion":"1.0","id":"A-1","source":"/sensors/7","type":"com.example.temp"\#(members)}"#
        return ForeignPushMessage(try PushMessage(RawPayload(payload, transport: transport)))
    }

    @Test(
        "an event in structured mode is read, over every transport",
        arguments: [nil, Transport.mqtt, .fcm, .apns, "http"])
    func attributes(transport: Transport?) throws {
        let event = try #require(
            try event(
                #","subject":"cellar","time":"2026-11-27T13:00:00.5+01:00","expirytime":"2026-11-27T12:05:00Z","#
                    + #""datacontenttype":"application/json","traceparent":"00-1","data":{"value":4.5,"topic":"t"}"#,
                over: transport))
        #expect(event.format == "cloudevents" && event.id == "A-1" && event.source == "/sensors/7")
        #expect(event.type == "com.example.temp" && event.subject == "cellar")
        #expect(event.sentAt == 1_795_780_800_500 && event.expiresAt == 1_795_781_100_000)
        #expect(event.data.keys == ["value", "topic"] && event.data["value"]?.double == 4.5)
        #expect(event.message.rawObject["traceparent"] == .string("00-1"))
        #expect(event.message.kind == .directPush && event.message.certainty == .certain)
        #expect(event.message.classification.evidence == ["specversion", "id", "source", "type"])
    }

    @Test(
        "accepts data of any type",
        arguments: [
            (#","data":"text""#, #"{"data":"text"}"#), (#","data":[1,2]"#, #"{"data":[1,2]}"#),
            (#","data":7"#, #"{"data":7}"#), (#","data_base64":"AQI=""#, #"{"data_base64":"AQI="}"#),
            (#","data":null"#, "{}"), ("", "{}"), (#","data":{}"#, "{}"), (#","data":{"a":1,"a":2}"#, #"{"a":1}"#),
            (#","data":{"\u0061":"\u0000"}"#, #"{"a":"\u0000"}"#),
        ])
    func data(members: String, data: String) throws {
        #expect(try event(members)?.data.description == data)
    }

    @Test("an extension named like a Kii key changes nothing")
    func extensions() throws {
        let event = try #require(try event(#","topic":"t","data":{"bucketID":"b"}"#))
        #expect(event.message.kind == .directPush && event.data.keys == ["bucketID"])
    }

    @Test(
        "requires all four attributes",
        arguments: [
            #"{"specversion":"1.0","id":"1","source":"/a"}"#, #"{"id":"1","source":"/a","type":"t"}"#,
            #"{"specversion":"2.0","id":"1","source":"/a","type":"t"}"#,
            #"{"specversion":1,"id":"1","source":"/a","type":"t"}"#,
            #"{"specversion":"1.0","source":"/a","type":"t"}"#, #"{"specversion":"1.0","id":"1","type":"t"}"#,
        ])
    func others(payload: String) throws {
        #expect(try PushMessage(RawPayload(payload)).format == nil)
    }

    @Test(
        "refuses an event at its broken attribute",
        arguments: [
            (#"{"specversion":"1.0","id":7,"source":"/a","type":"t"}"#, "'id' must be a text", 26),
            (#"{"specversion":"1.0","id":" ","source":"/a","type":"t"}"#, "'id' must be a text that is not blank", 27),
            (
                #"{"specversion":"1.0","id":"1","source":null,"type":"t"}"#,
                "'source' must be a text that is not blank", 39
            ),
            (#"{"specversion":"1.0","id":"1","source":"/a","type":["t"]}"#, "'type' must be a text", 51),
            (
                #"{"specversion":"1.0","id":"1","source":"/a","type":"t","time":"today"}"#,
                "'time' must be a time such as 2026-11-27T12:00:00Z", 63
            ),
        ])
    func broken(payload: String, detail: String, offset: Int) {
        let error = #expect(throws: DecodeError.self) { try PushMessage(RawPayload(payload)) }
        #expect(error == DecodeError(.badEncoding, at: offset, "cloudevents: \(detail)"))
    }
}

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
