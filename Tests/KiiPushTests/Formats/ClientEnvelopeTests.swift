import KiiPushAgent
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// Payloads as client libraries of the networks pass them on.
struct ClientEnvelopeTests {
    /// A Push to App as FCM carries it.
    private static let long =
        #"{"bucketID":"b","bucketType":"rw","objectID":"o","objectScopeType":"APP_AND_USER","objectScopeUserID":"u","#
        + #""type":"DATA_OBJECT_UPDATED","when":"1403844866395","origin":"EVENT","foreground":true}"#

    private static let wrapped = [
        #"{"title":"t","message":"m","additionalData":\#(long)}"#,
        #"{"actionId":"tap","notification":{"id":"1","data":\#(long)}}"#,
        #"{"to":"token","priority":"high","data":\#(long)}"#,
        #"{"notification":{"request":{"content":{"title":null,"data":\#(long)}}},"actionIdentifier":"a"}"#,
        #"{"request":{"content":{"userInfo":\#(long)}}}"#, #"{"userInfo":\#(long)}"#,
        #"{"title":"t","extras":\#(long.quotedAsJSON)}"#, #"{"from":"7","data":\#(long.quotedAsJSON)}"#,
        #"{"additionalD\u0061ta":\#(long)}"#,
    ]

    @Test("long keys are read where a client library puts them, as an object or as text", arguments: wrapped)
    func longKeys(payload: String) throws {
        for transport in [nil, "bridge" as Transport] {
            let message = try PushMessage(json: payload, over: transport)
            #expect(message.kind == .pushToApp && message.certainty == .certain && message.dialect == .long)
            #expect(message.object?.uri.description == "kiicloud://users/u/buckets/b/objects/o")
            #expect(message.event == .objectUpdated && message.sentAt == 1_403_844_866_395)
            #expect(message.data.keys == ["foreground"])
            #expect(
                message.dedupeKeys(secret: .published)
                    == (try PushMessage(json: Self.long)).dedupeKeys(secret: .published))
        }
        // A stated transport of a client library brings objects in its own dialect; MQTT needs no library.
        let isText = payload.contains(#"\"bucketID"#)
        #expect(try PushMessage(json: payload, over: .fcm).kind == (isText ? .directPush : .pushToApp))
        let isOfJPush = !isText && !payload.contains(#""data":{"bucketID""#) || payload.contains("notification")
        #expect(try PushMessage(json: payload, over: .jpush).kind == (isOfJPush ? .pushToApp : .directPush))
        for transport in [Transport.mqtt, .apns] {
            #expect(try PushMessage(json: payload, over: transport).kind != .pushToApp)
        }
    }

    @Test(
        "short keys are read there beside aps, or if the set of keys is only Kii's",
        arguments: [
            #"{"actionId":"tap","notification":{"data":{"aps":{"alert":"x"},"st":"APP","to":"t","w":5}}}"#,
            #"{"data":{"aps":{"alert":"x"},"st":"APP","to":"t","w":5}}"#,
            #"{"message":"x","count":1,"additionalData":{"s":"U","sa":"a","st":"APP","to":"t","w":5,"foreground":true}}"#,
        ])
    func shortKeys(payload: String) throws {
        let message = try PushMessage(json: payload)
        #expect(message.kind == .pushToUser && message.certainty == .certain && message.dialect == .apns)
        #expect(message.topic?.name == "t" && message.sentAt == 5)
        #expect(try PushMessage(json: payload, over: .apns).topic?.name == "t")
        #expect(try PushMessage(json: payload, over: .mqtt).kind == .directPush)
    }

    @Test(
        "FCM's long keys beside aps are read if they name a bucket or a topic with its scope, or with FCM's id",
        arguments: [
            Judged.app(
                #"{"aps":{"alert":"x"},"gcm.message_id":"16","google.c.a.e":"1","bucketID":"b","objectScopeType":"APP"}"#,
                by: "bucketID"),
            .app(#"{"bucketID":"b","objectScopeType":"APP","aps":{},"s":"mine","t":"5"}"#, by: "bucketID"),
            .user(#"{"aps":{},"topic":"t","objectScopeType":"APP"}"#, by: "topic"),
            .user(#"{"aps":{},"topic":"t","gcm.message_id":"16"}"#, by: "topic"),
            .direct(#"{"aps":{},"bucketID":"b","topic":"t"}"#),
            // A sender's own topic, and payloads that have Apple's keys of Kii too.
            .direct(#"{"aps":{},"topic":"weather","type":"x"}"#),
            .app(#"{"aps":{},"bi":"b","bucketID":"c","objectScopeType":"APP"}"#, by: "bi"),
            .user(#"{"aps":{},"to":"t","gcm.message_id":"16","bucketID":"c"}"#, by: "to"),
            // Over APNs itself, they are a sender's own data.
            .direct(#"{"aps":{},"gcm.message_id":"16","bucketID":"b"}"#, over: .apns),
        ])
    func besideAPS(_ judged: Judged) throws { try judged.check() }

    @Test(
        "a sender's own objects and texts are data, even broken ones",
        arguments: [
            #"{"data":"{\"x\":1}"}"#, #"{"data":"{\"bucketID\":\"b\""}"#, #"{"extras":{"s":"a","t":"b","to":"c"}}"#,
            #"{"additionalData":{"text":"hi"}}"#, #"{"notification":{"title":"x"},"userInfo":"text"}"#,
            #"{"topic":"t","additionalData":{"bucketID":"b"}}"#,
        ])
    func ownData(payload: String) throws {
        let message = try PushMessage(json: payload)
        #expect(message.kind != .pushToApp && message[.bucketID] == nil && !message.data.isEmpty)
    }

    // MARK: Where nobody reads them

    @Test(
        "a hint names the place of unread Kii keys, and a URI that cannot be read",
        arguments: [
            (#"{"custom":{"a":{"bucketID":"b"}}}"#, nil, "inside 'custom.a'"),
            (#"{"list":[{"x":1},{"topic":"t","objectScopeType":"APP"}]}"#, nil, "inside 'list.1'"),
            (#"{"payload":"{\"aps\":{},\"to\":\"t\",\"st\":\"APP\"}"}"#, nil, "inside 'payload'"),
            (#"{"data":"\"{\\\"bucketID\\\":\\\"b\\\"}\""}"#, nil, "inside 'data'"),
            (#"{"additionalData":{"bucketID":"b"}}"#, .mqtt, "inside 'additionalData'"),
            (#"{"aps":{},"data":{"bucketID":"b"}}"#, nil, "inside 'data'"),
            (#"{"bi":"b","bt":"rw","st":"APP"}"#, nil, "short keys are in the payload"),
            (#"{"aps":{},"bucketID":"b"}"#, .apns, "long keys are beside 'aps'"),
            (#"{"bucketID":"b"}"#, .quickblox, "not read over quickblox"),
            (#"{"sourceURI":"kiicloud://users/u/topics/t/"}"#, .mqtt, "'sourceURI' is no URI of Kii's that is known"),
        ] as [(String, Transport?, String)])
    func misplaced(payload: String, transport: Transport?, hint: String) throws {
        let message = try PushMessage(json: payload, over: transport)
        #expect(message.kind == .directPush)
        #expect(message.hints.count == 1 && message.hints.first?.contains(hint) == true, "\(message.hints)")
    }

    @Test(
        "similar data gives no hint",
        arguments: [
            "{}", #"{"a":{"t":"x","s":"y","to":"z","type":"u"}}"#, #"{"st":"1"}"#,
            #"{"aps":{"alert":"x"},"topic":"t"}"#,
            #"{"bucketID":"b","custom":{"bucketID":"b"}}"#, #"{"text":"{not json}","list":[1,"x",null]}"#,
        ])
    func noHint(payload: String) throws { #expect(try PushMessage(json: payload).hints == []) }

    @Test(
        "a time in another unit gives a hint",
        arguments: [
            (#"{"topic":"t","when":1795641000}"#, "'when' is probably in seconds"),
            (#"{"aps":{},"to":"t","w":"1795641000"}"#, "'w' is probably in seconds"),
            (#"{"bucketID":"b","modifiedAt":1795641000000000}"#, "'modifiedAt' is probably in microseconds"),
            (#"{"topic":"t","when":1795641000000000000}"#, "'when' is probably in nanoseconds"),
        ])
    func units(payload: String, hint: String) throws {
        let hints = try PushMessage(json: payload).hints
        #expect(hints.count == 1 && hints.first?.hasPrefix(hint) == true, "\(hints)")
        for plausible in [0, 5, 1_000_000, 1_403_844_866_395, 4_000_000_000_000] {
            #expect(try PushMessage(json: #"{"topic":"t","when":\#(plausible)}"#).hints == [])
        }
    }

    @Test("owner ids of another scope type are unused, and no conflict")
    func unused() throws {
        let message = try PushMessage(json: #"{"aps":{},"bi":"b","st":"APP_AND_GROUP","sg":"G","su":"U","sth":"th.1"}"#)
        #expect(message.unusedFields == [.scopeUserID, .scopeThingID] && message.certainty == .certain)
        #expect(try PushMessage(json: #"{"aps":{},"to":"t","st":"APP","su":"U"}"#).unusedFields == [.scopeUserID])
        #expect(try PushMessage(json: #"{"aps":{},"to":"t","su":"U"}"#).unusedFields == [])
    }
}
