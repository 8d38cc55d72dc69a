import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct FieldTableTests {
    @Test(
        "a number where text is due counts as its text, digit by digit",
        arguments: [
            "7", "-7", "0", "1234567890123456789012345678901234567890", "1.50", "1e3", "1E-400",
        ])
    func numbersAsText(_ number: String) throws {
        let text =
            #"{"bucketID":\#(number),"topic":\#(number),"sender":\#(number),"objectScopeUserID":\#(number),"#
            + #""objectScopeType":"APP_AND_USER","objectID":\#(number),"objectScopeAppID":\#(number)}"#
        let message = try PushMessage(json: text)
        for field in [KiiField.bucketID, .topic, .sender, .scopeUserID, .objectID, .scopeAppID] {
            #expect(message[field] == number)
        }
        #expect(
            message.object
                == KiiObject(
                    bucket: KiiBucket(scope: .user(KiiUser(id: number)), name: number), id: number))
        #expect(message.sender == .user(id: number))
        #expect(message.classification.conflicts.map(\.name) == ["topic"])
    }

    @Test(
        "times are read from numbers and from digits in strings, and stay text in the fields",
        arguments: [
            ("1403844866395", "1403844866395", 1_403_844_866_395),
            ("\"1403844866395\"", "1403844866395", 1_403_844_866_395),
            ("0", "0", 0), ("-1", "-1", -1), ("1.403844866395e12", "1.403844866395e12", 1_403_844_866_395),
            ("9223372036854775807", "9223372036854775807", Int64.max), (#""\u0031000""#, "1000", 1000),
        ])
    func times(_ value: String, _ text: String, _ time: Int64) throws {
        let long = try PushMessage(json: "{\"origin\":\"EVENT\",\"when\":\(value),\"modifiedAt\":\(value)}")
        #expect(long.sentAt == time && long.modifiedAt == time)
        #expect(long[.when] == text && long[.objectModifiedAt] == text)
        #expect(long.certainty == .certain)
        let short = try PushMessage(json: "{\"aps\":{},\"bi\":\"b\",\"w\":\(value),\"om\":\(value)}")
        #expect(short.sentAt == time && short.modifiedAt == time && short.certainty == .certain)
    }

    @Test(
        "text is kept exactly, with its case, its spaces and its characters",
        arguments: [
            "MyTopic", " padded ", "007", "1e3", "9223372036854775808", "日本語", "😀", "a/b?c#d%20", "ÀÉ", "..", "a\tb",
        ])
    func text(_ topic: String) throws {
        for quoted in [topic.quotedAsJSON, "\"" + topic.unicodeScalars.map { $0.escaped }.joined() + "\""] {
            let message = try PushMessage(json: "{\"topic\":\(quoted),\"objectScopeType\":\"APP\"}")
            #expect(message[.topic] == topic && message.topic?.name == topic)
        }
    }

    @Test("many escaped fields keep apart, and the payload stays as received")
    func escapedFields() throws {
        let text =
            #"{"objectScopeType":"\u0041PP_AND_USER","objectScopeUserID":"\u0055-1","bucketID":"b\u002f1","#
            + #""objectID":"o\"1","type":"DATA\u005fOBJECT_CREATED","sender":"\u0074h.1","own":"\u0041"}"#
        let payload = RawPayload(text, transport: .mqtt)
        let message = try PushMessage(payload)
        #expect(message.bucket == KiiBucket(scope: .user(KiiUser(id: "U-1")), name: "b/1"))
        #expect(message.object?.id == "o\"1")
        #expect(message.event == .objectCreated)
        #expect(message.senderThing == KiiThing(id: "th.1"))
        #expect(message.data.members.map(\.key) == ["own"] && message.data["own"] == .string("A"))
        #expect(message.raw == payload && message.rawObject == DataValue(json: text))
        #expect(message.rawObject["bucketID"]?.string == "b/1")
    }

    @Test(
        "what is blank counts as absent, and is no conflict", arguments: ["", " ", "   ", "\\t", "\\r\\n", "\\u0020"])
    func blank(_ value: String) throws {
        for field in KiiField.allCases {
            let message = try PushMessage(json: "{\"\(field.longName)\":\"\(value)\"}")
            #expect(message[field] == nil)
            #expect(message.certainty == .likely)
        }
    }
}

extension Unicode.Scalar {
    /// The scalar as JSON escapes, one or two.
    fileprivate var escaped: String {
        String(self).utf16.map { unit in
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined()
    }
}
