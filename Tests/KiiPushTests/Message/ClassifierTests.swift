import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// The witnesses for a kind, each alone and with its evidence.
struct ClassifierTests {
    @Test(
        "on short keys a bucket or object key makes a Push to App, and the topic a Push to User",
        arguments: [
            Judged(#"{"aps":{},"bi":"b"}"#, .pushToApp, by: ["bi"]),
            Judged(#"{"aps":{},"bt":"rw"}"#, .pushToApp, by: ["bt"]),
            Judged(#"{"aps":{},"oi":"o"}"#, .pushToApp, by: ["oi"]),
            Judged(#"{"aps":{},"om":1}"#, .pushToApp, by: ["om"]),
            Judged(#"{"om":1,"oi":"o","bt":"rw","bi":"b","aps":{}}"#, .pushToApp, by: ["bi", "bt", "oi", "om"]),
            Judged(#"{"bi":"b"}"#, over: .apns, .pushToApp, by: ["bi"]),
            Judged(#"{"to":"t"}"#, over: .apns, .pushToUser, by: ["to"]),
            Judged(#"{"aps":{},"to":"t"}"#, .pushToUser, by: ["to"]),
            Judged(#"{"aps":{},"to":"t","o":"EXPLICIT","t":"DATA_OBJECT_CREATED"}"#, .pushToUser, by: ["to"]),
            Judged(#"{"aps":{},"bi":"b","o":"EVENT"}"#, .pushToApp, by: ["bi"]),
            Judged(#"{"aps":{},"om":1,"o":"EVENT"}"#, .pushToApp, by: ["om"]),
        ])
    func shortKeys(_ judged: Judged) throws { try judged.check() }

    @Test(
        "on long keys the origin or a bucket key makes a Push to App, and the topic a Push to User",
        arguments: [
            Judged(#"{"origin":"EVENT"}"#, .pushToApp, by: ["origin"]),
            Judged(#"{"bucketID":"b"}"#, .pushToApp, by: ["bucketID"]),
            Judged(#"{"bucketType":"rw"}"#, .pushToApp, by: ["bucketType"]),
            Judged(
                #"{"bucketType":"rw","bucketID":"b","origin":"EVENT"}"#, .pushToApp,
                by: ["origin", "bucketID", "bucketType"]),
            Judged(#"{"origin":"EVENT","objectID":"o","modifiedAt":"1"}"#, .pushToApp, by: ["origin"]),
            Judged(#"{"topic":"t"}"#, .pushToUser, by: ["topic"]),
            Judged(#"{"topic":"t","origin":"EXPLICIT"}"#, .pushToUser, by: ["topic"]),
            Judged(#"{"topic":"t","origin":"event"}"#, .pushToUser, by: ["topic"]),
            Judged(#"{"aps":{},"topic":"t"}"#, over: .mqtt, .pushToUser, by: ["topic"]),
            Judged(#"{"bucketID":"b"}"#, over: .jpush, .pushToApp, by: ["bucketID"]),
        ])
    func longKeys(_ judged: Judged) throws { try judged.check() }

    @Test(
        "without a witness it is likely a Direct Push",
        arguments: [
            Judged("{}", .directPush, by: []), Judged(#"{"aps":{}}"#, .directPush, by: []),
            Judged("{}", over: .apns, .directPush, by: []),
            Judged(#"{"aps":{"alert":{"body":"hello"}}}"#, over: .apns, .directPush, by: []),
            Judged(#"{"text":"hello","bucket":"b"}"#, over: .fcm, .directPush, by: []),
            // All that Kii documents for one: who, which app, when, and a type of the sender's.
            Judged(#"{"aps":{},"s":"U","a":"app","t":"x","w":1,"o":"EXPLICIT"}"#, .directPush, by: []),
            Judged(#"{"sender":"U","type":"DATA_OBJECT_CREATED","when":"1"}"#, .directPush, by: []),
            Judged(#"{"origin":"EXPLICIT"}"#, .directPush, by: []), Judged(#"{"origin":"Event"}"#, .directPush, by: []),
            // On long keys an object alone makes no Push to App.
            Judged(#"{"objectID":"o"}"#, .directPush, by: []), Judged(#"{"modifiedAt":1}"#, .directPush, by: []),
            // Keys of the other style are a sender's own.
            Judged(#"{"bi":"b","to":"t"}"#, .directPush, by: []),
            Judged(#"{"aps":{},"bucketID":"b","topic":"t"}"#, .directPush, by: []),
            Judged(#"{"aps":{},"bi":"b"}"#, over: .fcm, .directPush, by: []),
            Judged(#"{"topic":"t"}"#, over: .apns, .directPush, by: []),
            // Nor do nested keys count.
            Judged(#"{"k":{"bucketID":"b","topic":"t"}}"#, .directPush, by: []),
            Judged(#"{"aps":{"bi":"b","to":"t"}}"#, .directPush, by: []),
        ])
    func absence(_ judged: Judged) throws { try judged.check() }

    @Test(
        "null counts as absent, beside good keys and alone",
        arguments: [
            Judged(#"{"bucketID":"b","topic":null}"#, .pushToApp, by: ["bucketID"]),
            Judged(#"{"bucketID":null,"bucketType":null,"origin":null,"topic":"t"}"#, .pushToUser, by: ["topic"]),
            Judged(#"{"aps":{},"bi":null,"om":null,"to":"t","w":null}"#, .pushToUser, by: ["to"]),
            Judged(#"{"aps":{},"to":null,"st":null,"text":"hello"}"#, .directPush, by: []),
            Judged(#"{"topic":"t","sourceURI":null,"senderURI":null,"when":null}"#, .pushToUser, by: ["topic"]),
            Judged(#"{"topic":null,"bucketID":"b"}"#, over: .jpush, .pushToApp, by: ["bucketID"]),
            Judged(
                #"{"cn.jpush.android.MESSAGE":"{\"bucketID\":\"b\",\"topic\":null}"}"#, .pushToApp, by: ["bucketID"]),
            Judged(#"{"data":{"bucketID":"b","topic":null}}"#, over: .fcm, .pushToApp, by: ["bucketID"]),
            Judged(
                #"{"commandID":"c","actions":[{"a":[{"x":1}]}],"topic":null,"sender":null}"#, over: .mqtt, .directPush,
                by: ["commandID", "actions"]),
            Judged(#"{"topic":null,"dialog_id":"d"}"#, .directPush, by: ["dialog_id"]),
        ])
    func null(_ judged: Judged) throws { try judged.check() }

    @Test(
        "the source's URI is a witness for each kind, alone or beside keys",
        arguments: [
            Judged(#"{"sourceURI":"kiicloud://buckets/b"}"#, .pushToApp, by: ["sourceURI"]),
            Judged(#"{"sourceURI":"kiicloud://app/users/U/buckets/b/objects/o"}"#, .pushToApp, by: ["sourceURI"]),
            Judged(#"{"sourceURI":"kiicloud://things/th.1/topics/t"}"#, .pushToUser, by: ["sourceURI"]),
            Judged(#"{"topic":"t","sourceURI":"kiicloud://topics/t"}"#, .pushToUser, by: ["topic", "sourceURI"]),
            Judged(#"{"bucketID":"b","sourceURI":"kiicloud://buckets/b"}"#, .pushToApp, by: ["bucketID", "sourceURI"]),
            Judged(
                #"{"origin":"EVENT","sourceURI":"kiicloud://groups/g/buckets/b"}"#, .pushToApp,
                by: ["origin", "sourceURI"]),
            Judged(#"{"objectID":"o","sourceURI":"kiicloud://buckets/b/objects/o"}"#, .pushToApp, by: ["sourceURI"]),
            Judged(#"{"aps":{},"bi":"b","sourceURI":"kiicloud://buckets/b"}"#, .pushToApp, by: ["bi", "sourceURI"]),
            Judged(#"{"sourceURI":"kiicloud://users/U"}"#, .directPush, by: ["sourceURI"]),
            Judged(#"{"sourceURI":"kiicloud://app/users/U"}"#, .directPush, by: ["sourceURI"]),
            Judged(
                #"{"sourceURI":"kiicloud://users/U","senderURI":"kiicloud://admins/APP_ADMIN"}"#, .directPush,
                by: ["sourceURI", "senderURI"]),
            // What is no URI of Kii's is no witness.
            Judged(#"{"sourceURI":"https://users/U"}"#, .directPush, by: []),
            Judged(#"{"sourceURI":"users/U/buckets/b"}"#, .directPush, by: []),
            Judged(#"{"sourceURI":"kiicloud://"}"#, .directPush, by: []),
            Judged(#"{"sourceURI":"kiicloud://buckets"}"#, .directPush, by: []),
            Judged(#"{"topic":"t","sourceURI":"nonsense"}"#, .pushToUser, by: ["topic"]),
        ])
    func sourceURI(_ judged: Judged) throws { try judged.check() }

    @Test(
        "an administrator's URI speaks for a Direct Push only when nothing speaks for another kind",
        arguments: [
            Judged(#"{"senderURI":"kiicloud://admins/APP_ADMIN"}"#, .directPush, by: ["senderURI"]),
            Judged(#"{"aps":{},"senderURI":"kiicloud://admins/other"}"#, .directPush, by: ["senderURI"]),
            Judged(#"{"senderURI":"kiicloud://users/U"}"#, .directPush, by: []),
            Judged(#"{"senderURI":"nonsense"}"#, .directPush, by: []),
            Judged(#"{"topic":"t","senderURI":"kiicloud://admins/APP_ADMIN"}"#, .pushToUser, by: ["topic"]),
            Judged(#"{"bucketID":"b","senderURI":"kiicloud://admins/APP_ADMIN"}"#, .pushToApp, by: ["bucketID"]),
            Judged(
                #"{"sourceURI":"kiicloud://topics/t","senderURI":"kiicloud://admins/A"}"#, .pushToUser,
                by: ["sourceURI"]),
        ])
    func senderURI(_ judged: Judged) throws { try judged.check() }

    @Test(
        "a blank key counts as absent",
        arguments: [
            Judged(#"{"aps":{},"bi":"","bt":" ","oi":"\t","om":"","to":"\n "}"#, .directPush, by: []),
            Judged(#"{"bucketID":"","bucketType":"\u0020","origin":"","topic":""}"#, .directPush, by: []),
            Judged(#"{"bucketID":"","topic":"t"}"#, .pushToUser, by: ["topic"]),
            Judged(#"{"aps":{},"bi":"  ","to":"t","oi":""}"#, .pushToUser, by: ["to"]),
            Judged(#"{"bucketID":"b","topic":""}"#, .pushToApp, by: ["bucketID"]),
            Judged(#"{"sourceURI":"","senderURI":" ","topic":"t"}"#, .pushToUser, by: ["topic"]),
            Judged(#"{"when":"","modifiedAt":" ","sender":""}"#, .directPush, by: []),
        ])
    func blank(_ judged: Judged) throws { try judged.check() }

    @Test(
        "every kind is certain in every scope and key style, and a Direct Push by absence likely",
        arguments: PayloadFixture.matrix)
    func matrix(
        _ it: (name: String, kind: PushKind, scope: KiiScope?, style: PayloadFixture.KeyStyle, payload: RawPayload)
    ) throws {
        let message = try PushMessage(it.payload)
        #expect(message.kind == it.kind, "\(it.name)")
        #expect(message.certainty == (it.kind == .directPush ? .likely : .certain), "\(it.name)")
        #expect(message.classification.conflicts == [], "\(it.name)")
        #expect(message.dialect == (it.style == .short ? .apns : .long))
        #expect(message.scope.owner == it.scope)
        #expect(message.bucket?.scope == (it.kind == .pushToApp ? it.scope : nil))
        #expect(message.object?.id == (it.kind == .pushToApp ? "o-1" : nil))
        let topic = it.scope.map { KiiTopic(scope: $0, name: "news") }
        #expect(message.topic == (it.kind == .pushToUser ? topic : nil))
    }

    @Test("a missing, unknown or incomplete scope never changes the kind", arguments: PayloadFixture.matrix)
    func scopeAndKind(
        _ it: (name: String, kind: PushKind, scope: KiiScope?, style: PayloadFixture.KeyStyle, payload: RawPayload)
    ) throws {
        let scopeFields: [KiiField] = [.scopeType, .scopeAppID, .scopeUserID, .scopeGroupID, .scopeThingID]
        let whole = try PushMessage(it.payload)
        for dropped in [scopeFields, [.scopeType], [.scopeUserID, .scopeGroupID, .scopeThingID]] {
            var members = try #require(DataValue(json: String(decoding: it.payload.bytes, as: UTF8.self))).members
            let names = Set(dropped.flatMap { [$0.shortName, $0.longName] })
            members.removeAll { names.contains($0.key) }
            var writer = JSONWriter()
            writer.value(.object(members))
            let message = try PushMessage(json: writer.text, over: it.payload.transport)
            #expect(message.classification == whole.classification, "\(writer.text)")
        }
    }
}

extension DataValue {
    fileprivate var members: [(key: String, value: DataValue)] {
        guard case .object(let members) = self else { return [] }
        return members
    }
}
