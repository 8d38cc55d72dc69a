@_spi(Hostile) import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// When there is a bucket, an object or a topic, and in which scope.
struct HandleTests {
    private static let user = #""objectScopeType":"APP_AND_USER","objectScopeUserID":"U""#

    /// A statement of scope as APNs has it, and the scope it is; nil where there is none to speak of.
    static let scopes: [(keys: String, scope: KiiScope?)] = [
        (#""st":"APP""#, .app), (#""st":"APP_AND_USER","su":"U""#, .user(KiiUser(id: "U"))),
        (#""st":"APP_AND_GROUP","sg":"G""#, .group(KiiGroup(id: "G"))),
        (#""st":"APP_AND_THING","sth":"th.1""#, .thing(KiiThing(id: "th.1"))),
        // The type decides, also beside ids of other scopes.
        (#""st":"APP","su":"U","sg":"G","sth":"th.1""#, .app),
        (#""st":"APP_AND_USER","su":"U","sg":"G","sth":"t""#, .user(KiiUser(id: "U"))),
        (#""st":"APP_AND_GROUP","su":"U","sg":"G""#, .group(KiiGroup(id: "G"))),
        (#""st":"APP_AND_THING","su":"U","sth":"t""#, .thing(KiiThing(id: "t"))),
        // Not stated, unknown, or without the id that it needs.
        (#""su":"U""#, nil), (#""sa":"app""#, nil), (#""st":"""#, nil), (#""st":"app""#, nil), (#""st":" APP""#, nil),
        (#""st":"APP_AND_user","su":"U""#, nil), (#""st":"APP_AND_DEVICE","su":"U""#, nil),
        (#""st":"APP_AND_USER""#, nil), (#""st":"APP_AND_USER","su":" ""#, nil),
        (#""st":"APP_AND_USER","su":null"#, nil),
        (#""st":"APP_AND_USER","sg":"G","sa":"app""#, nil), (#""st":"APP_AND_GROUP","su":"U""#, nil),
        (#""st":"APP_AND_THING","su":"U""#, nil),
    ]

    /// The same as the other transports have it.
    private static func long(_ keys: String) -> String {
        [KiiField.scopeType, .scopeUserID, .scopeGroupID, .scopeThingID, .scopeAppID].reduce(keys) { text, field in
            text.replacing("\"\(field.shortName)\":", with: "\"\(field.longName)\":")
        }
    }

    /// Expects that a message has this owner of its scope, and no other.
    private func expectOwner(_ scope: KiiScope?, _ message: PushMessage) {
        let owners: [KiiScope?] = [
            message.scopeUser.map { .user($0) }, message.scopeGroup.map { .group($0) },
            message.scopeThing.map { .thing($0) },
        ]
        let named = [scope].compactMap(\.self).filter { $0 != .app }
        #expect(message.scope.owner == scope && owners.compactMap(\.self) == named)
    }

    @Test("a bucket needs a known scope with its id, and a name; an object its id too", arguments: scopes)
    func bucketAndObject(_ keys: String, _ scope: KiiScope?) throws {
        let texts = [
            "{\"bucketID\":\"b\",\"objectID\":\"o\",\(Self.long(keys))}",
            "{\"aps\":{},\"bi\":\"b\",\"oi\":\"o\",\(keys)}",
        ]
        for text in texts {
            let message = try PushMessage(json: text)
            #expect(message.kind == .pushToApp)
            expectOwner(scope, message)
            let bucket = scope.map { KiiBucket(scope: $0, name: "b") }
            #expect(message.bucket == bucket)
            #expect(message.object == bucket.map { KiiObject(bucket: $0, id: "o") })
            #expect(message.topic == nil)
            #expect(BucketEvent(message)?.scope == scope && ObjectEvent(message)?.scope == scope)
            try Invariants.check(message.raw)
        }
    }

    @Test("a topic needs the same", arguments: scopes)
    func topic(_ keys: String, _ scope: KiiScope?) throws {
        for text in ["{\"topic\":\"t\",\(Self.long(keys))}", "{\"aps\":{},\"to\":\"t\",\(keys)}"] {
            let message = try PushMessage(json: text)
            #expect(message.kind == .pushToUser)
            expectOwner(scope, message)
            #expect(message.topic == scope.map { KiiTopic(scope: $0, name: "t") })
            #expect(message.bucket == nil && TopicMessage(message)?.scope == scope)
            try Invariants.check(message.raw)
        }
    }

    @Test(
        "no handle without a name",
        arguments: [
            #"{"origin":"EVENT","objectScopeType":"APP","objectID":"o"}"#,
            #"{"bucketType":"rw","objectScopeType":"APP","objectID":"o"}"#,
            #"{"bucketType":"rw","bucketID":"","objectScopeType":"APP","objectID":"o"}"#,
            #"{"bucketType":"rw","bucketID":true,"objectScopeType":"APP","objectID":"o"}"#,
            #"{"aps":{},"oi":"o","om":1,"st":"APP"}"#,
        ])
    func noName(_ payload: String) throws {
        let message = try PushMessage(json: payload)
        #expect(message.kind == .pushToApp)
        #expect(message.bucket == nil && message.object == nil && BucketEvent(message) == nil)
    }

    @Test(
        "an event without an object has a bucket and no object",
        arguments: ["", #""objectID":"","#, #""objectID":[],"#])
    func bucketDeleted(_ object: String) throws {
        let message = try PushMessage(
            json: #"{\#(object)"bucketID":"b","type":"BUCKET_DELETED","objectScopeType":"APP"}"#)
        #expect(message.bucket == KiiBucket(scope: .app, name: "b"))
        #expect(message.object == nil && ObjectEvent(message) == nil)
        #expect(BucketEvent(message)?.type == .bucketDeleted)
    }

    @Test("a key of another kind stays in the fields and makes no handle")
    func otherKind() throws {
        let app = try PushMessage(json: "{\"bucketID\":\"b\",\"topic\":\"t\",\(Self.user)}")
        #expect(app.bucket?.name == "b" && app.topic == nil && app[.topic] == "t")
        let user = try PushMessage(json: "{\"objectID\":\"o\",\"topic\":\"t\",\(Self.user)}")
        #expect(user.topic?.name == "t" && user.object == nil && user[.objectID] == "o")
    }

    @Test(
        "the bucket's type is not needed, keeps its text, and an unknown one loses nothing",
        arguments: [
            nil, "rw", "sync", "SYNC", "crypto", "CRYPTO", "something new",
        ])
    func bucketType(_ type: String?) throws {
        let keys = type.map { "\"bucketType\":\"\($0)\"," } ?? ""
        let bucket = try #require(try PushMessage(json: "{\(keys)\"bucketID\":\"b\",\(Self.user)}").bucket)
        #expect(bucket.type?.rawName == type)
        #expect(
            bucket.uri.description == "kiicloud://users/U/buckets/\(type?.lowercased() == "crypto" ? "CRYPTO:" : "")b")
    }

    @Test(
        "a scope's kind, name and id as stated",
        arguments: [
            (#""objectScopeType":"APP","objectScopeUserID":"U""#, MessageScope(kind: .app, typeName: "APP", id: nil)),
            (user, MessageScope(kind: .user, typeName: "APP_AND_USER", id: "U")),
            (#""objectScopeType":"APP_AND_GROUP""#, MessageScope(kind: .group, typeName: "APP_AND_GROUP", id: nil)),
            (#""objectScopeType":"APP_AND_MARS""#, MessageScope(kind: .unknown, typeName: "APP_AND_MARS", id: nil)),
            (#""objectScopeThingID":"th.1""#, MessageScope(kind: .unknown, typeName: nil, id: nil)),
        ])
    func stated(_ keys: String, _ scope: MessageScope) throws {
        let message = try PushMessage(json: "{\"topic\":\"t\",\(keys)}")
        #expect(message.scope == scope)
    }
}

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

    @Test("each sender has an id and a type, which are printed, and those of two types differ")
    func types() {
        let senders: [Sender] = [.user(id: "x"), .thing(id: "x"), .admin("x")]
        #expect(senders.map(\.typeName) == ["user", "thing", "admin"] && senders.allSatisfy { $0.id == "x" })
        #expect(senders.map(\.description) == ["user x", "thing x", "admin x"])
        #expect(Set(senders + [.user(KiiUser(id: "x")), .thing(KiiThing(id: "x"))]).count == 3)
    }
}
