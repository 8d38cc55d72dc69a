import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// Every way in which data may resemble a command and be none: running it would let any sender command a thing.
struct ThingCommandRefusalTests {
    @Test(
        "without a command id, it is data",
        arguments: [
            "", #""commandID":"","#, #""commandID":" \t\n","#, #""commandID":null,"#, #""commandID":true,"#,
            #""commandID":["c"],"#, #""commandID":{"id":"c"},"#, #""commandid":"c","#, #""CommandID":"c","#,
            #""x":{"commandID":"c"},"#,
        ])
    func noID(member: String) throws {
        try check("{\(member)\"actions\":[{\"a\":[{\"x\":1}]}]}")
        try check("{\(member)\"schema\":\"s\",\"schemaVersion\":1,\"actions\":[{\"x\":1}]}")
    }

    private static let noActions = [
        "", #","actions":[]"#, #","actions":null"#, #","actions":true"#, #","actions":1"#, #","actions":{}"#,
        #","actions":{"a":[{"x":1}]}"#, #","actions":[{}]"#, #","actions":[1]"#, #","actions":["a"]"#,
        #","actions":[null]"#, #","actions":[[{"a":[{"x":1}]}]]"#, #","Actions":[{"a":[{"x":1}]}]"#,
        #","x":{"actions":[{"a":[{"x":1}]}]}"#,
        // Kii's senders can send strings but no arrays, so a list in a string is a sender's.
        #","actions":"[{\"a\":[{\"x\":1}]}]""#, #","actions":"""#,
        #","actions":[{"a":[{"x":1}],"b":[{"y":1}]}]"#, #","actions":[{"a":[{"x":1}]},{}]"#,
        #","actions":[{"a":[{"x":1}]},{"b":[{"y":1}],"c":[{"z":1}]}]"#,
    ]

    @Test("without a list of objects of one member each it is data", arguments: noActions)
    func actions(members: String) throws {
        try check("{\"commandID\":\"c\"\(members)}")
        try check("{\"commandID\":\"c\",\"schema\":\"s\",\"schemaVersion\":1\(members)}")
    }

    @Test(
        "without a schema, an alias needs a list of actions",
        arguments: [
            "1", "null", "true", #""x""#, #""[{\"x\":1}]""#, #"{"x":1}"#, "[]", "[{}]", "[1]", "[[]]",
            #"[{"x":1,"y":2}]"#, #"[{"x":1},{}]"#, #"[{"x":1},2]"#,
        ])
    func noTrait(value: String) throws {
        try check(#"{"commandID":"c","actions":[{"a":\#(value)}]}"#)
        try check(#"{"commandID":"c","actions":[{"b":[{"x":1}]},{"a":\#(value)}]}"#)
        // With a schema it would be an action like any other.
        let named = #"{"commandID":"c","schema":"s","schemaVersion":1,"actions":[{"a":\#(value)}]}"#
        #expect(try DirectPushMessage(PushMessage(json: named))?.command != nil)
    }

    @Test(
        "ignores an incomplete or mistyped schema",
        arguments: [
            #""schema":"s""#, #""schemaVersion":1"#, #""schema":"s","schemaVersion":"one""#,
            #""schema":"s","schemaVersion":null"#,
            #""schema":"s","schemaVersion":true"#, #""schema":"s","schemaVersion":[1]"#,
            #""schema":"s","schemaVersion":99999999999999999999"#, #""schema":7,"schemaVersion":1"#,
            #""schema":null,"schemaVersion":1"#, #""schema":{},"schemaVersion":1"#, #""schema":null"#,
        ])
    func schema(members: String) throws {
        try check(#"{"commandID":"c",\#(members),"actions":[{"x":1}]}"#)
        try check(#"{"commandID":"c",\#(members),"actions":[{"a":[{"x":1}]}]}"#)
    }

    @Test("an issuer of a wrong type", arguments: ["null", "true", "false", "[]", #"["user:u"]"#, #"{"user":"u"}"#])
    func issuer(value: String) throws {
        try check(#"{"commandID":"c","issuer":\#(value),"actions":[{"a":[{"x":1}]}]}"#)
    }

    private func check(_ payload: String, location: SourceLocation = #_sourceLocation) throws {
        let message = try PushMessage(json: payload, over: .mqtt)
        let push = try #require(DirectPushMessage(message), sourceLocation: location)
        #expect(push.command == nil && message.dialect == .long, sourceLocation: location)
        #expect(message.certainty == .likely, sourceLocation: location)
        #expect(message.classification.evidence.isEmpty, sourceLocation: location)
        #expect(message.dedupeKeys(secret: .published).strength == .weak, sourceLocation: location)
    }

    private static let body = #""commandID":"c","actions":[{"a":[{"x":1}]}]"#

    @Test(
        "a Push to User or to App that has such data is one all the same",
        arguments: [#""topic":"t""#, #""bucketID":"b""#])
    func otherKinds(member: String) throws {
        let message = try PushMessage(json: "{\(member),\(Self.body)}", over: .mqtt)
        #expect(message.kind != .directPush && message.dialect == .long && message.certainty == .certain)
        #expect(message.data.keys == ["commandID", "actions"])
        #expect(message.classification.evidence.count == 1)
    }

    @Test("a QuickBlox push may hold any JSON, so no command comes from there")
    func quickBlox() throws {
        let stated = try PushMessage(json: "{\(Self.body)}", over: .quickblox)
        let marked = try PushMessage(json: "{\(Self.body),\"dialog_id\":\"d\"}")
        let event = QuickBloxEvent.json("{\(Self.body)}").encoded
        for message in [stated, marked, try PushMessage(json: event, over: .quickblox)] {
            let push = try #require(DirectPushMessage(message))
            #expect(message.dialect == .foreign && push.command == nil && push.quickBlox != nil)
            #expect(message.dedupeKeys(secret: .published).strength == .weak)
        }
    }
}
