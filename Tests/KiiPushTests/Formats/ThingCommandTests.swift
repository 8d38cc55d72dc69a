import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct ThingCommandTests {
    private static let named =
        #"{"schema":"Lamp","schemaVersion":2,"commandID":"c-1","issuer":"user:u-1","#
        + #""actions":[{"turnPower":{"power":true}},{"setColor":[0,128,255]},{"blink":null}]}"#

    private static let byAlias =
        #"{"commandID":"c-1","actions":[{"Air":[{"turnPower":true},{"setTemp":23}]},{"Air":[{"turnPower":false}]},"#
        + #"{"Wet":[{"set":{"to":"45"}}]}]}"#

    private func command(_ payload: String, over transport: Transport? = .mqtt) throws -> ThingCommand? {
        try #require(DirectPushMessage(PushMessage(json: payload, over: transport))).command
    }

    // MARK: What it says

    @Test("the dialect with a schema: actions have names")
    func withSchema() throws {
        let command = try #require(try command(Self.named))
        #expect(command.id == "c-1" && command.issuer == "user:u-1")
        #expect(command.schema?.name == "Lamp" && command.schema?.version == 2)
        #expect(command.actions.map(\.alias) == [nil, nil, nil])
        #expect(command.actions.map(\.name) == ["turnPower", "setColor", "blink"])
        #expect(
            command.actions.map(\.value) == [
                .object([("power", .bool(true))]), .array([.number("0"), .number("128"), .number("255")]), .null,
            ])
    }

    @Test("the dialect with traits: actions are grouped by alias, in order")
    func withTraits() throws {
        let command = try #require(try command(Self.byAlias))
        #expect(command.id == "c-1" && command.issuer == nil && command.schema == nil)
        #expect(command.actions.map(\.alias) == ["Air", "Air", "Air", "Wet"])
        #expect(command.actions.map(\.name) == ["turnPower", "setTemp", "turnPower", "set"])
        #expect(
            command.actions.map(\.value) == [
                .bool(true), .number("23"), .bool(false), .object([("to", .string("45"))]),
            ])
    }

    @Test(
        "it is a Direct Push, certain, over whatever transport", arguments: [nil, Transport.mqtt, .fcm, .jpush, .apns])
    func classification(_ transport: Transport?) throws {
        for payload in [Self.named, Self.byAlias] {
            let message = try PushMessage(json: payload, over: transport)
            let classification = message.classification
            #expect(message.dialect == .thingIF && classification.kind == .directPush)
            #expect(classification.certainty == .certain && classification.conflicts.isEmpty)
            #expect(classification.evidence == ["commandID", "actions"])
            #expect(DirectPushMessage(message)?.command != nil && DirectPushMessage(message)?.quickBlox == nil)
        }
    }

    @Test("other members are data, and an administrator as sender is evidence too")
    func neighbours() throws {
        let payload =
            #"{"commandID":"c","actions":[{"a":[{"x":1}]}],"target":"thing:th.1","title":"t","#
            + #""senderURI":"kiicloud://admins/APP_ADMIN"}"#
        let message = try PushMessage(json: payload, over: .mqtt)
        #expect(message.classification.evidence == ["senderURI", "commandID", "actions"])
        #expect(message.sender == .admin("APP_ADMIN") && message.certainty == .certain)
        #expect(message.data.keys == ["commandID", "actions", "target", "title"])
        #expect(DirectPushMessage(message)?.command?.actions.count == 1)
    }

    @Test("over APNs a command's long keys are data, and its short keys are Kii's")
    func shortKeys() throws {
        let body = #""commandID":"c","actions":[{"a":[{"x":1}]}]"#
        let wrong = try PushMessage(json: "{\(body),\"to\":[1],\"topic\":\"t\",\"sender\":7}", over: .apns)
        #expect(wrong.dialect == .thingIF && wrong.data.keys == ["commandID", "actions", "topic", "sender"])
        #expect(wrong.classification.conflicts.map(\.name) == ["topic"] && wrong.certainty == .ambiguous)
        let good = try PushMessage(json: "{\(body),\"s\":\"U\",\"w\":5}", over: .apns)
        #expect(good.sender == .user(id: "U") && good.sentAt == 5 && good.data.keys == ["commandID", "actions"])
        // And the other way round over MQTT.
        let long = try PushMessage(json: "{\(body),\"to\":[1],\"sender\":\"U\"}", over: .mqtt)
        #expect(long.data.keys == ["commandID", "actions", "to"] && long.certainty == .certain)
        #expect(long.sender == .user(id: "U"))
    }

    @Test("keys and values are compared unescaped, and members stand in any order")
    func escapes() throws {
        let payload = #"{"\u0061ctions":[{"\u0061":[{"x\n":"\u00e9"}]}],"command\u0049D":"c\u002d1"}"#
        let command = try #require(try command(payload))
        #expect(command.id == "c-1" && command.actions.first?.alias == "a" && command.actions.first?.name == "x\n")
        #expect(command.actions.first?.value == .string("é"))
    }

    @Test("accepts a numeric id and a blank schema")
    func tolerance() throws {
        #expect(try command(#"{"commandID":17,"actions":[{"a":[{"x":1}]}]}"#)?.id == "17")
        let blank = try command(#"{"commandID":"c","schema":"","schemaVersion":"0","actions":[{"x":1}],"issuer":7}"#)
        #expect(blank?.schema == ThingCommand.Schema(name: "", version: 0))
        #expect(blank?.issuer == "7")
    }

    // MARK: Dedupe

    private func keys(_ payload: RawPayload, app: String? = nil) throws -> DedupeKeys {
        try PushMessage(payload).dedupeKeys(app: app, secret: .published)
    }

    @Test("a command has one key per app, over every transport and under every message id")
    func dedupe() throws {
        let first = try keys(RawPayload(Self.named, transport: .mqtt), app: "a")
        #expect(first.strength == .strong && first.secondary == nil)
        let inJPush = #"{"cn.jpush.android.MSG_ID":"7","cn.jpush.android.MESSAGE":\#(Self.named.quotedAsJSON)}"#
        let same = [
            RawPayload(Self.named), RawPayload(Self.named, transport: .fcm, transportMessageID: "9"),
            RawPayload(inJPush), RawPayload(Self.byAlias, transport: .mqtt),
            RawPayload(String(Self.byAlias.dropLast()) + #","appID":"a"}"#, transport: .mqtt),
        ]
        for payload in same { #expect(try keys(payload, app: "a") == first) }
        #expect(try keys(RawPayload(Self.named, transport: .mqtt), app: "b") != first)
        #expect(try keys(RawPayload(Self.named, transport: .mqtt)) != first)
        let other = Self.named.replacing("c-1", with: "c-2")
        #expect(try keys(RawPayload(other, transport: .mqtt), app: "a") != first)
    }

    // MARK: Its answer and its completion

    @Test("an answer has the reason of each action that failed, by its name to the byte")
    func answer() {
        var answer = Answer.failed("stuck")
        #expect(!answer.hasFailedActions)
        answer[failureOf: "caf\u{E9}"] = "stuck"
        #expect(answer.hasFailedActions && answer[failureOf: "caf\u{E9}"] == "stuck")
        #expect(answer[failureOf: "cafe\u{301}"] == nil && Answer(json: answer.jsonText) == answer)
    }

    @Test(
        "recognizes the push about a completed command",
        arguments: [nil, Transport.apns, .fcm, .jpush])
    func completion(_ transport: Transport?) throws {
        for payload in [#"{"commandID":"c-1"}"#, #"{"aps":{},"from":"7","command\u0049D":"c-1"}"#] {
            let message = try PushMessage(json: payload, over: transport)
            let push = try #require(DirectPushMessage(message))
            #expect(push.completedCommandID == "c-1" && push.command == nil)
            #expect(message.certainty == .likely && message.classification.evidence.isEmpty)
        }
        #expect(try DirectPushMessage(PushMessage(json: #"{"commandID":5}"#))?.completedCommandID == "5")
    }

    @Test(
        "no other push completes a command",
        arguments: [
            "{}", named, byAlias, #"{"commandID":"c","x":1}"#, #"{"commandID":""}"#, #"{"commandID":" "}"#,
            #"{"commandID":null}"#, #"{"commandID":["c"]}"#, #"{"commandid":"c"}"#,
            #"{"commandID":"c","actions":"[]"}"#, #"{"commandID":"c","dialog_id":"d"}"#,
        ])
    func noCompletion(payload: String) throws {
        let push = try #require(DirectPushMessage(PushMessage(json: payload)))
        #expect(push.completedCommandID == nil)
    }
}

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

    @Test("without a list of objects with one member each, it is data", arguments: noActions)
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
        "a Push to User or to App with such data keeps its kind",
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
