import KiiPushTesting
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

    @Test(
        "a blank value counts as absent, and is no conflict", arguments: ["", " ", "   ", "\\t", "\\r\\n", "\\u0020"])
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
        String(self).utf16.map { "\\u" + $0.digits(4, radix: 16) }.joined()
    }
}

struct MessageDataTests {
    @Test("data are the members that are not Kii's, in payload order")
    func order() throws {
        let long = try PushMessage(
            json:
                #"{"z":1,"topic":"t","a":"x","objectScopeType":"APP","m":null,"sender":"U","":true,"when":1,"b":{"k":[1]}}"#
        )
        #expect(long.data.keys == ["z", "a", "m", "", "b"])
        #expect(long.data.members.map(\.key) == long.data.keys)
        #expect(
            long.data.members.map(\.value) == [
                .number("1"), .string("x"), .null, .bool(true), .object([("k", .array([.number("1")]))]),
            ])
        let short = try PushMessage(json: #"{"z":1,"to":"t","aps":{"x":1},"a":"app","y":2,"st":"APP","x":3}"#)
        #expect(short.data.keys == ["z", "y", "x"])
        #expect(!short.data.isEmpty && !long.data.isEmpty)
    }

    @Test("no key of Kii's own is data in its own style, whatever its value", arguments: KiiField.allCases)
    func kiiKeys(_ field: KiiField) throws {
        for value in ["\"x\"", "1", "\"\"", "null", "{}"] {
            let long = try PushMessage(json: "{\"\(field.longName)\":\(value)}").data
            #expect(long.isEmpty && long.keys == [] && long[field.longName] == nil)
            let short = try PushMessage(json: "{\"\(field.shortName)\":\(value)}", over: .apns).data
            #expect(short.isEmpty && short.keys == [] && short[field.shortName] == nil)
        }
    }

    @Test("a key of the other style is data, and no field", arguments: KiiField.allCases.dropLast(2))
    func otherStyle(_ field: KiiField) throws {
        for (key, transport) in [(field.shortName, Transport.fcm), (field.longName, .apns)] {
            let message = try PushMessage(json: "{\"\(key)\":\"x\"}", over: transport)
            #expect(message.data.keys == [key] && message.data[key] == .string("x") && message[field] == nil)
        }
    }

    @Test("empty strings are kept: blank is absent for Kii's fields only")
    func emptyStrings() throws {
        let data = try PushMessage(json: #"{"topic":"","text":"","space":" "}"#).data
        #expect(data.keys == ["text", "space"] && data["text"] == .string("") && data["space"] == .string(" "))
    }

    @Test("keys are found by their text, however they are escaped")
    func escapedKeys() throws {
        let data = try PushMessage(json: #"{"\u0074ext":"a","q\"uote":1,"back\\slash":2,"\ud83d\ude00":3,"é":4}"#).data
        #expect(data.keys == ["text", "q\"uote", "back\\slash", "😀", "é"])
        for key in data.keys { #expect(data[key] != nil) }
        #expect(data["text"] == .string("a") && data["\\u0074ext"] == nil && data["tex"] == nil && data["texts"] == nil)
        #expect(data["q\\\"uote"] == nil)
    }

    @Test(
        "a message without data is empty",
        arguments: ["{}", " { } ", #"{"topic":"t"}"#, #"{"aps":{"alert":"x"}}"#, #"{"from":"1","_kl":"1;0;x"}"#])
    func empty(_ text: String) throws {
        let data = try PushMessage(json: text).data
        #expect(data.isEmpty && data.keys == [] && data.members.isEmpty && data[""] == nil)
    }

    @Test("what a fixture was given comes back, in every style", arguments: PayloadFixture.KeyStyle.allCases)
    func fixture(_ style: PayloadFixture.KeyStyle) throws {
        let sent: [(key: String, value: DataValue)] = [
            ("text", "é\"\\\n😀"), ("whole", 9_007_199_254_740_993), ("yes", true), ("no", false), ("half", 10.5),
            ("room", ["id": 7]), ("list", [1, "x"]),
        ]
        var fixture = PayloadFixture.pushToUser(data: sent)
        let data = try PushMessage(fixture.payload(style)).data
        #expect(data.keys == sent.map(\.key))
        for (key, value) in sent {
            let isText = style == .strings
            #expect(data[key] == (isText ? .string(value.string ?? value.jsonText) : value))
            #expect(data[key]?.bool == value.bool && data[key]?.integer == value.integer)
            #expect(data[key]?["id"] == value["id"])
        }
        fixture.fields[.when] = "soon"
        #expect(try PushMessage(fixture.payload(style)).classification.conflicts.map(\.name) == ["when"])
    }
}
