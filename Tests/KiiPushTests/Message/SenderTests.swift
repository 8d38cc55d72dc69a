import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// Who sent it.
struct SenderTests {
    @Test(
        "a bare id is a thing when it starts with th., else a user",
        arguments: [
            ("U-1", Sender.user(id: "U-1")),
            ("727f20b00022-8d18-5e11-991f-06db2509", .user(id: "727f20b00022-8d18-5e11-991f-06db2509")),
            ("th.53ae324be5a0-26f8-4e11-a13c-03da6fb2", .thing(id: "th.53ae324be5a0-26f8-4e11-a13c-03da6fb2")),
            ("th.", .thing(id: "th.")), ("th", .user(id: "th")), ("TH.1", .user(id: "TH.1")),
            ("xth.1", .user(id: "xth.1")), (" th.1", .user(id: " th.1")), ("the", .user(id: "the")),
        ])
    func bareID(_ id: String, _ sender: Sender) throws {
        for text in ["{\"topic\":\"t\",\"sender\":\"\(id)\"}", "{\"aps\":{},\"bi\":\"b\",\"s\":\"\(id)\"}"] {
            let message = try PushMessage(json: text)
            #expect(message.sender == sender)
            #expect(message[.sender] == id)
        }
    }

    @Test(
        "senderURI counts first",
        arguments: [
            ("kiicloud://users/V", Sender.user(id: "V")), ("kiicloud://things/th.2", .thing(id: "th.2")),
            ("kiicloud://things/VENDOR_THING_ID:v", .thing(id: "VENDOR_THING_ID:v")),
            ("kiicloud://app/users/V", .user(id: "V")), ("kiicloud://app/things/x", .thing(id: "x")),
            ("kiicloud://users/th.3", .user(id: "th.3")), ("kiicloud://admins/APP_ADMIN", .admin("APP_ADMIN")),
        ])
    func uriFirst(_ uri: String, _ sender: Sender) throws {
        for id in ["U", "th.1", ""] {
            let message = try PushMessage(json: "{\"topic\":\"t\",\"sender\":\"\(id)\",\"senderURI\":\"\(uri)\"}")
            #expect(message.sender == sender)
        }
    }

    @Test(
        "a senderURI that does not parse leaves it to the bare id",
        arguments: [
            "", "nonsense", "kiicloud://", "kiicloud://users", "kiicloud://users/", "https://users/V", "users/V",
            "KIICLOUD://users/V", "kiicloud://people/V",
            // These parse, but nobody sends as a group or a bucket.
            "kiicloud://groups/G", "kiicloud://buckets/b", "kiicloud://users/V/topics/t",
        ])
    func badURI(_ uri: String) throws {
        let message = try PushMessage(json: "{\"topic\":\"t\",\"sender\":\"th.1\",\"senderURI\":\"\(uri)\"}")
        #expect(message.sender == .thing(id: "th.1"))
        #expect(try PushMessage(json: "{\"topic\":\"t\",\"senderURI\":\"\(uri)\"}").sender == nil)
    }

    @Test(
        "a Direct Push has a sender like any other, and an administrator only by its senderURI",
        arguments: [
            (#"{"sender":"U"}"#, Sender.user(id: "U")), (#"{"aps":{},"s":"U","st":"APP"}"#, .user(id: "U")),
            (#"{"aps":{},"s":"th.1"}"#, .thing(id: "th.1")), (#"{"aps":{},"sender":"U"}"#, nil),
            (#"{"sender":"APP_ADMIN"}"#, .user(id: "APP_ADMIN")),
            (#"{"sender":"U","senderURI":"kiicloud://admins/APP_ADMIN"}"#, .admin("APP_ADMIN")),
            (#"{"sender":"U","senderURI":"kiicloud://admins/other"}"#, .admin("other")),
            (#"{"sender":"U","senderURI":"nonsense"}"#, .user(id: "U")), ("{}", nil), (#"{"sender":""}"#, nil),
            (#"{"sender":" "}"#, nil), (#"{"sender":null}"#, nil),
            (#"{"commandID":"c","actions":[{"a":[{"x":1}]}],"sender":"U"}"#, .user(id: "U")),
            (#"{"sender":"U","dialog_id":"d"}"#, nil),
        ])
    func direct(_ payload: String, _ sender: Sender?) throws {
        let message = try PushMessage(json: payload)
        #expect(message.kind == .directPush)
        #expect(message.sender == sender)
        let (user, thing) = (message.senderUser?.id, message.senderThing?.id)
        #expect(
            [user, thing].compactMap(\.self) == (sender?.typeName == "admin" ? [] : [sender?.id].compactMap(\.self)))
    }

    @Test("each sender has an id and the name of its type, and those of two types differ")
    func types() {
        let senders: [Sender] = [.user(id: "x"), .thing(id: "x"), .admin("x")]
        #expect(senders.map(\.typeName) == ["user", "thing", "admin"] && senders.allSatisfy { $0.id == "x" })
        #expect(Set(senders + [.user(KiiUser(id: "x")), .thing(KiiThing(id: "x"))]).count == 3)
    }
}
