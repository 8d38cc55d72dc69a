import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

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
            ("text", .string("é\"\\\n😀")), ("whole", .number("9007199254740993")), ("yes", .bool(true)),
            ("no", .bool(false)), ("half", .number("10.5")),
        ]
        let data = try PushMessage(PayloadFixture.pushToUser(data: sent).payload(style)).data
        #expect(data.keys == sent.map(\.key))
        for (key, value) in sent {
            #expect(
                data[key]?.string == value.string && data[key]?.bool == value.bool
                    && data[key]?.integer == value.integer)
        }
    }
}
