import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// `KiiReceivedMessage`, method by method: each test has the name of the method whose counterpart it tests.
struct KiiReceivedMessageTests {
    private static let appText =
        #"{"aps":{"content-available":1},"bi":"bucketName","bt":"rw","oi":"fedcba09","sa":"0123abcd","st":"APP_AND_USER","#
        + #""su":"01234567-89ab","t":"DATA_OBJECT_CREATED","w":1403844866395}"#
    private static let userText =
        #"{"aps":{"alert":{"body":"short msg only!"}},"s":"cf6de5b5","sa":"9a2385ce","sg":"G","st":"APP_AND_GROUP","#
        + #""to":"MyTopic","w":1373623307000}"#
    private static let thingText =
        #"{"aps":{"alert":"hello"},"s":"th.1","st":"APP_AND_THING","sth":"th.2","bi":"b"}"#
    private static let directText = #"{"aps":{"alert":{"title":"t","body":"Looong"}},"s":"U","text":"hello"}"#

    private let app: PushMessage
    private let user: PushMessage
    private let thing: PushMessage
    private let direct: PushMessage

    init() throws {
        app = try PushMessage(json: Self.appText, over: .apns)
        user = try PushMessage(json: Self.userText, over: .apns)
        thing = try PushMessage(json: Self.thingText, over: .apns)
        direct = try PushMessage(json: Self.directText, over: .apns)
    }

    @Test func rawMessage() {
        #expect(app.raw == RawPayload(Self.appText, transport: .apns))
        #expect(direct.raw.bytes == Array(Self.directText.utf8))
        #expect(app.rawObject == DataValue(json: Self.appText))
        #expect(direct.rawObject["aps"]?["alert"]?["title"]?.string == "t" && direct.rawObject["s"]?.string == "U")
    }

    @Test func messageFromAPNS() throws {
        #expect([app.kind, user.kind, thing.kind, direct.kind] == [.pushToApp, .pushToUser, .pushToApp, .directPush])
        #expect(
            [app.certainty, user.certainty, thing.certainty, direct.certainty] == [
                .certain, .certain, .certain, .likely,
            ])
        #expect(throws: DecodeError.self) { try PushMessage(json: "userInfo", over: .apns) }
    }

    @Test func containsKiiBucket() {
        #expect(app.bucket != nil && thing.bucket != nil)
        #expect(user.bucket == nil && direct.bucket == nil)
    }

    @Test func containsKiiObject() {
        #expect(app.object != nil)
        #expect(thing.object == nil && user.object == nil && direct.object == nil)
    }

    @Test func containsKiiTopic() {
        #expect(user.topic != nil)
        #expect(app.topic == nil && thing.topic == nil && direct.topic == nil)
    }

    @Test func eventSourceBucket() {
        let scope = KiiScope.user(KiiUser(id: "01234567-89ab"))
        #expect(app.bucket == KiiBucket(scope: scope, name: "bucketName", type: .readWrite))
        #expect(thing.bucket == KiiBucket(scope: .thing(KiiThing(id: "th.2")), name: "b"))
        #expect(app.bucket?.uri.description == "kiicloud://users/01234567-89ab/buckets/bucketName")
    }

    @Test func eventSourceObject() {
        #expect(app.object?.id == "fedcba09" && app.object?.bucket == app.bucket)
        #expect(app.object?.uri.description == "kiicloud://users/01234567-89ab/buckets/bucketName/objects/fedcba09")
    }

    @Test func eventSourceTopic() {
        #expect(user.topic == KiiTopic(scope: .group(KiiGroup(id: "G")), name: "MyTopic"))
        #expect(user.topic?.uri.description == "kiicloud://groups/G/topics/MyTopic")
    }

    @Test func eventSourceUser() {
        #expect(app.scopeUser == KiiUser(id: "01234567-89ab"))
        #expect(user.scopeUser == nil && thing.scopeUser == nil && direct.scopeUser == nil)
    }

    @Test func eventSourceGroup() {
        #expect(user.scopeGroup == KiiGroup(id: "G"))
        #expect(app.scopeGroup == nil && thing.scopeGroup == nil && direct.scopeGroup == nil)
    }

    @Test func eventSourceThing() {
        #expect(thing.scopeThing == KiiThing(id: "th.2"))
        #expect(app.scopeThing == nil && user.scopeThing == nil && direct.scopeThing == nil)
    }

    @Test func senderUser() {
        #expect(user.senderUser == KiiUser(id: "cf6de5b5"))
        #expect(direct.senderUser == KiiUser(id: "U"))
        #expect(app.senderUser == nil && thing.senderUser == nil)
    }

    @Test func senderThing() {
        #expect(thing.senderThing == KiiThing(id: "th.1"))
        #expect(app.senderThing == nil && user.senderThing == nil && direct.senderThing == nil)
    }

    @Test(
        "getValueOfKiiMessageField",
        arguments: [
            (KiiField.appID, "a", "APP"), (.sender, "s", "USER"), (.origin, "o", "EVENT"),
            (.when, "w", "1403844866395"),
            (.type, "t", "DATA_OBJECT_UPDATED"), (.topic, "to", "TOPIC"), (.scopeAppID, "sa", "SCOPE"),
            (.scopeUserID, "su", "U"), (.scopeGroupID, "sg", "G"), (.scopeThingID, "sth", "th.1"),
            (.scopeType, "st", "APP"),
            (.bucketID, "bi", "BUCKET"), (.bucketType, "bt", "sync"), (.objectID, "oi", "OBJECT"),
            (.objectModifiedAt, "om", "1403844866000"),
        ])
    func getValueOfKiiMessageField(_ field: KiiField, _ key: String, _ value: String) throws {
        let message = try PushMessage(json: "{\"aps\":{},\"\(key)\":\"\(value)\"}", over: .apns)
        #expect(message[field] == value)
        for other in KiiField.allCases where other != field { #expect(message[other] == nil) }
    }

    @Test("getValueOfKiiMessageField has the times of numbers as text")
    func timesAsText() {
        #expect(app[.when] == "1403844866395" && app.sentAt == 1_403_844_866_395)
        #expect(app[.objectModifiedAt] == nil && app.modifiedAt == nil)
        #expect(app[.type] == "DATA_OBJECT_CREATED" && app.event == .objectCreated)
        #expect(KiiField.allCases.count == 15 + 2)
    }

    @Test func messageScope() throws {
        #expect([app, user, thing, direct].map(\.scope.kind) == [.user, .group, .thing, .unknown])
        #expect(try PushMessage(json: #"{"aps":{},"st":"APP"}"#).scope.kind == .app)
        #expect(
            try PushMessage(json: #"{"aps":{},"st":"NEW"}"#).scope
                == MessageScope(kind: .unknown, typeName: "NEW", id: nil))
    }

    @Test func getAlertBody() throws {
        #expect(user.alert?.body == "short msg only!" && thing.alert?.body == "hello" && direct.alert?.body == "Looong")
        #expect(app.alert?.body == nil)
        #expect(try PushMessage(json: #"{"topic":"t"}"#).alert?.body == nil)
    }
}
