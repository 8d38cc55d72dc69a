import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// Everything that makes a message ambiguous.
struct ConflictTests {
    @Test(
        "what contradicts the kind makes a message ambiguous, by the names of the fields",
        arguments: [
            // A bucket and a topic: a Push to App that is ambiguous.
            Judged.app(#"{"bucketID":"b","topic":"t"}"#, by: "bucketID", despite: "topic"),
            .app(#"{"bucketType":"rw","topic":"t"}"#, by: "bucketType", despite: "topic"),
            .app(#"{"origin":"EVENT","bucketID":"b","topic":"t"}"#, by: "origin bucketID", despite: "topic"),
            .app(#"{"aps":{},"bi":"b","to":"t"}"#, by: "bi", despite: "topic"),
            .app(#"{"aps":{},"oi":"o","to":"t"}"#, by: "oi", despite: "topic"),
            // An object's keys on a Push to User.
            .user(#"{"topic":"t","objectID":"o"}"#, by: "topic", despite: "objectID"),
            .user(#"{"topic":"t","modifiedAt":1}"#, by: "topic", despite: "modifiedAt"),
            .user(#"{"topic":"t","modifiedAt":1,"objectID":"o"}"#, by: "topic", despite: "objectID modifiedAt"),
            // An origin that says the other kind.
            .app(#"{"origin":"EXPLICIT","bucketID":"b"}"#, by: "bucketID", despite: "origin"),
            .app(#"{"origin":"EXPLICIT","bucketType":"rw"}"#, by: "bucketType", despite: "origin"),
            .app(#"{"origin":"EXPLICIT","sourceURI":"kiicloud://buckets/b"}"#, by: "sourceURI", despite: "origin"),
            .app(#"{"aps":{},"o":"EXPLICIT","bi":"b"}"#, by: "bi", despite: "origin"),
            // On short keys EVENT is no witness, but without a bucket it contradicts.
            .direct(#"{"aps":{},"o":"EVENT"}"#, despite: "origin"),
            .user(#"{"aps":{},"o":"EVENT","to":"t"}"#, by: "to", despite: "origin"),
            // A source of another kind than the keys say.
            .user(#"{"topic":"t","sourceURI":"kiicloud://users/U"}"#, by: "topic", despite: "sourceURI"),
            .app(#"{"bucketID":"b","sourceURI":"kiicloud://topics/t"}"#, by: "bucketID", despite: "sourceURI"),
            .app(#"{"bucketID":"b","sourceURI":"kiicloud://users/U"}"#, by: "bucketID", despite: "sourceURI"),
            .app(#"{"origin":"EVENT","sourceURI":"kiicloud://topics/t"}"#, by: "origin", despite: "sourceURI"),
            .app(#"{"origin":"EVENT","sourceURI":"kiicloud://users/U"}"#, by: "origin", despite: "sourceURI"),
            .app(#"{"aps":{},"bi":"b","sourceURI":"kiicloud://topics/t"}"#, by: "bi", despite: "sourceURI"),
            // A source with another topic or scope than the keys of a Push to User.
            .user(
                #"{"topic":"t","sourceURI":"kiicloud://topics/u"}"#, by: "topic sourceURI", despite: "sourceURI"),
            .user(
                #"{"topic":"t","objectScopeType":"APP","sourceURI":"kiicloud://users/U/topics/t"}"#,
                by: "topic sourceURI", despite: "sourceURI"),
            .user(
                #"{"topic":"t","objectScopeType":"APP_AND_GROUP","objectScopeGroupID":"G","sourceURI":"kiicloud://groups/H/topics/t"}"#,
                by: "topic sourceURI", despite: "sourceURI"),
            // An owner's scope beside evidence for a Direct Push, and an unknown scope.
            .direct(#"{"aps":{},"st":"NEW","su":"U"}"#, despite: "objectScopeType"),
            .direct(#"{"objectScopeType":"app"}"#, despite: "objectScopeType"),
            .direct(
                #"{"sourceURI":"kiicloud://users/U","objectScopeType":"APP_AND_USER","objectScopeUserID":"U"}"#,
                over: .mqtt, by: "sourceURI", despite: "objectScopeType"),
            .direct(
                #"{"senderURI":"kiicloud://admins/APP_ADMIN","objectScopeUserID":"U"}"#,
                over: .mqtt, by: "senderURI", despite: "objectScopeUserID"),
            .direct(
                #"{"senderURI":"kiicloud://admins/APP_ADMIN","objectScopeType":"NEW"}"#,
                over: .mqtt, by: "senderURI", despite: "objectScopeType"),
            .direct(
                #"{"commandID":"c","actions":[{"a":[{"x":1}]}],"objectScopeThingID":"th.1"}"#,
                over: .mqtt, by: "commandID actions", despite: "objectScopeThingID"),
        ])
    func conflicts(_ judged: Judged) throws { try judged.check() }

    @Test(
        "a topic beside an event or a bucket's URI: a Push to App, but ambiguous and without handles",
        arguments: [
            (#"{"origin":"EVENT","topic":"t","objectScopeType":"APP"}"#, "origin"),
            (#"{"topic":"t","objectScopeType":"APP","sourceURI":"kiicloud://buckets/b/objects/o"}"#, "sourceURI"),
        ])
    func imitation(payload: String, conflict: String) throws {
        let message = try PushMessage(json: payload)
        #expect(message.kind == .pushToApp && message.certainty == .ambiguous)
        #expect(message.classification.conflicts.contains { $0.name == conflict })
        #expect(message.bucket == nil && message.object == nil && message.topic == nil)
    }

    private static let app = #""origin":"EVENT","bucketID":"b","objectID":"o","#

    @Test(
        "a source with another scope, bucket, object or topic than the keys",
        arguments: [
            // Scope.
            #""objectScopeType":"APP","sourceURI":"kiicloud://users/U/buckets/b""#,
            #""objectScopeType":"APP_AND_USER","objectScopeUserID":"U","sourceURI":"kiicloud://users/V/buckets/b""#,
            #""objectScopeType":"APP_AND_USER","objectScopeUserID":"U","sourceURI":"kiicloud://groups/U/buckets/b""#,
            #""objectScopeType":"APP_AND_USER","objectScopeUserID":"U","sourceURI":"kiicloud://buckets/b""#,
            #""objectScopeType":"APP_AND_USER","sourceURI":"kiicloud://things/th.1/buckets/b""#,
            #""objectScopeType":"APP_AND_GROUP","objectScopeGroupID":"G","sourceURI":"kiicloud://groups/g/buckets/b""#,
            #""objectScopeType":"APP_AND_THING","objectScopeThingID":"th.1","sourceURI":"kiicloud://things/th.2/buckets/b""#,
            #""objectScopeType":"APP","objectScopeAppID":"x","sourceURI":"kiicloud://y/buckets/b""#,
            // Bucket and object.
            #""sourceURI":"kiicloud://buckets/c""#, #""sourceURI":"kiicloud://buckets/B/objects/o""#,
            #""sourceURI":"kiicloud://buckets/b/objects/p""#, #""sourceURI":"kiicloud://buckets/c/objects/p""#,
            #""bucketType":"rw","sourceURI":"kiicloud://buckets/CRYPTO:b""#,
        ])
    func source(_ keys: String) throws {
        let type = keys.contains("bucketType") ? "bucketType " : ""
        try Judged.app("{\(Self.app)\(keys)}", by: "origin bucketID \(type)sourceURI", despite: "sourceURI").check()
    }

    @Test(
        "a source that agrees is no conflict",
        arguments: [
            #""objectScopeType":"APP","sourceURI":"kiicloud://buckets/b""#,
            #""sourceURI":"kiicloud://buckets/b/objects/o""#,
            #""objectScopeType":"APP_AND_USER","objectScopeUserID":"U","sourceURI":"kiicloud://users/U/buckets/b/objects/o""#,
            #""objectScopeType":"APP_AND_THING","objectScopeThingID":"th.1","sourceURI":"kiicloud://things/th.1/buckets/b""#,
            #""objectScopeType":"APP","objectScopeAppID":"x","sourceURI":"kiicloud://x/buckets/b""#,
            #""objectScopeType":"APP_AND_USER","objectScopeUserID":"U","objectScopeGroupID":"G","sourceURI":"kiicloud://users/U/buckets/b""#,
        ])
    func agreeing(_ keys: String) throws {
        try Judged.app("{\(Self.app)\(keys)}", by: "origin bucketID sourceURI").check()
    }

    @Test("a value of a wrong type is a conflict, and counts as missing", arguments: KiiField.allCases)
    func wrongTypes(_ field: KiiField) throws {
        for value in ["true", "false", "[]", "{}", #"["x"]"#, #"{"x":1}"#] {
            for (key, start) in [(field.shortName, #"{"aps":{},"#), (field.longName, "{")] {
                let message = try PushMessage(json: "\(start)\"\(key)\":\(value)}")
                #expect(message[field] == nil)
                #expect(message.kind == .directPush && message.certainty == .ambiguous)
                #expect(message.classification.conflicts.map(\.name) == [field.longName])
                #expect(message.classification.evidence == [])
            }
        }
    }

    @Test(
        "a time that is no number is a conflict",
        arguments: [
            "\"soon\"", "\"2014-06-27\"", "\"0x10\"", "\"1403844866395ms\"", "\"1,403\"", "\"1 403\"", "\"007\"",
            "\"-\"", "true", "1e400", "99999999999999999999", "\"9223372036854775808\"",
        ])
    func times(_ value: String) throws {
        for field in [KiiField.when, .objectModifiedAt] {
            let message = try PushMessage(json: "{\"origin\":\"EVENT\",\"\(field.longName)\":\(value)}")
            #expect(message.sentAt == nil && message.modifiedAt == nil && message[field] == nil)
            #expect(message.certainty == .ambiguous)
            #expect(message.classification.conflicts.map(\.name) == [field.longName])
        }
    }

    @Test(
        "the scope of an owner without bucket and topic makes a likely Push to User, by the scope's keys",
        arguments: [
            Judged.user(
                #"{"aps":{"alert":{"body":"x"}},"s":"U","sa":"app","st":"APP_AND_USER","su":"U","w":1}"#, by: "sa su st"
            ),
            .user(#"{"aps":{"alert":"x"},"s":"U-2","st":"APP_AND_GROUP","sg":"G1","w":5}"#, by: "sg st"),
            .user(#"{"aps":{},"st":"APP_AND_THING"}"#, by: "st"),
            .user(#"{"aps":{},"st":"APP_AND_USER","sg":"G"}"#, by: "sg st"),
            .user(#"{"su":"U"}"#, over: .apns, by: "su"),
            .user(#"{"sth":"th.1","sa":"app"}"#, over: .apns, by: "sa sth"),
            .user(#"{"objectScopeGroupID":"G","x":1}"#, over: .fcm, by: "objectScopeGroupID"),
            .user(
                #"{"cn.jpush.android.EXTRA":"{\"objectScopeType\":\"APP_AND_USER\",\"text\":\"x\"}"}"#,
                by: "objectScopeType"),
            .user(
                #"{"objectScopeType":"APP_AND_GROUP","senderURI":"kiicloud://users/U"}"#,
                over: .mqtt, by: "objectScopeType"),
            .user(#"{"dialog_id":"d","objectScopeType":"APP_AND_USER"}"#, by: "objectScopeType"),
            // What belongs to buckets contradicts, as beside a topic.
            .user(
                #"{"objectID":"o","modifiedAt":1,"objectScopeType":"APP_AND_USER","objectScopeUserID":"U"}"#,
                by: "objectScopeUserID objectScopeType", despite: "objectID modifiedAt"),
            .user(#"{"aps":{},"o":"EVENT","st":"APP_AND_USER"}"#, by: "st", despite: "origin"),
            // The app's scope says nothing, whatever ids stand beside it: only the developer can send to its topics.
            .direct(#"{"aps":{},"st":"APP"}"#),
            .direct(#"{"aps":{},"st":"APP","su":"U","sg":"G","sth":"th.1","sa":"app"}"#),
            .direct(#"{"aps":{},"sa":"app"}"#), .direct(#"{"objectID":"o","objectScopeType":"APP"}"#),
            .direct(#"{"dialog_id":"d","objectScopeType":"APP"}"#),
            .direct(
                #"{"sourceURI":"kiicloud://users/U","senderURI":"kiicloud://admins/APP_ADMIN","objectScopeType":"APP"}"#,
                over: .mqtt, by: "sourceURI senderURI"),
            // Keys of the other style, blank ones, and those of a QuickBlox push state no scope.
            .direct(#"{"st":"APP_AND_USER","sg":"G1"}"#), .direct(#"{"aps":{},"st":"","sg":" ","su":null}"#),
        ])
    func scopeWithoutTopic(_ judged: Judged) throws {
        try judged.check()
        let message = try PushMessage(json: judged.payload, over: judged.transport)
        #expect(message.topic == nil && message.bucket == nil && message.object == nil)
    }

    @Test(
        "another app than the receiver's is the conflict appID",
        arguments: [
            #"{"objectScopeAppID":"other","topic":"t"}"#, #"{"appID":"other","topic":"t"}"#,
            #"{"appID":"mine","objectScopeAppID":"other","topic":"t"}"#, #"{"aps":{},"sa":"other","to":"t"}"#,
            #"{"aps":{},"a":"other","to":"t"}"#,
        ])
    func otherApp(_ payload: String) throws {
        let evidence = payload.contains("aps") ? "to" : "topic"
        try Judged.user(payload, by: evidence, despite: "appID").check(app: "mine")
        // Without an app to compare with, nothing contradicts; nor when the payload names none, or the right one.
        try Judged.user(payload, by: evidence).check()
        try Judged.user(payload, by: evidence).check(app: "other")
        try Judged.user(#"{"topic":"t"}"#, by: "topic").check(app: "mine")
    }

    @Test(
        "a classification says the kind, and why",
        arguments: [
            (#"{"topic":"t","objectScopeType":"APP"}"#, "Push to User, certain: the payload has topic"),
            (#"{"n":1}"#, "Direct Push, likely: nothing in the payload says otherwise"),
            (
                #"{"bucketID":"b","topic":"t"}"#,
                "Push to App, ambiguous: the payload has bucketID, but there is a contradiction; topic: a topic beside what makes a Push to App"
            ),
        ])
    func words(payload: String, words: String) throws {
        #expect(try PushMessage(RawPayload(payload)).classification.description == words)
    }

    @Test("the scope's app counts before the sender's")
    func scopeAppFirst() throws {
        let payload = #"{"appID":"other","objectScopeAppID":"mine","topic":"t"}"#
        #expect(try PushMessage(json: payload, app: "mine").certainty == .certain)
        #expect(try PushMessage(json: payload).appID == "mine")
        #expect(try PushMessage(json: #"{"appID":"other"}"#).appID == "other")
        #expect(try PushMessage(json: #"{"sourceURI":"kiicloud://third/topics/t"}"#).appID == "third")
        #expect(try PushMessage(json: "{}").appID == nil)
    }

    @Test("each conflicting field stands once, and its reason holds nothing of the payload")
    func reasons() throws {
        let payload =
            #"{"origin":"EXPLICIT","bucketID":"SECRET1","topic":"SECRET2","objectScopeType":"APP","when":"SECRET3","#
            + #""sourceURI":"kiicloud://users/SECRET4/buckets/SECRET5","sender":[],"appID":"SECRET6"}"#
        let conflicts = try PushMessage(json: payload, app: "mine").classification.conflicts
        #expect(Set(conflicts.map(\.name)) == ["appID", "origin", "topic", "sourceURI", "sender", "when"])
        #expect(conflicts.count == 6)
        for conflict in conflicts { #expect(!conflict.reason.isEmpty && !conflict.reason.contains("SECRET")) }
    }
}
