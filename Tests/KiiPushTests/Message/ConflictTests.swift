import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// Everything that makes a message ambiguous.
struct ConflictTests {
    @Test(
        "a bucket and a topic: a Push to App that is ambiguous",
        arguments: [
            Judged(#"{"bucketID":"b","topic":"t"}"#, .pushToApp, by: ["bucketID"], despite: ["topic"]),
            Judged(#"{"bucketType":"rw","topic":"t"}"#, .pushToApp, by: ["bucketType"], despite: ["topic"]),
            Judged(
                #"{"origin":"EVENT","bucketID":"b","topic":"t"}"#, .pushToApp, by: ["origin", "bucketID"],
                despite: ["topic"]),
            Judged(#"{"aps":{},"bi":"b","to":"t"}"#, .pushToApp, by: ["bi"], despite: ["topic"]),
            Judged(#"{"aps":{},"oi":"o","to":"t"}"#, .pushToApp, by: ["oi"], despite: ["topic"]),
        ])
    func bucketAndTopic(_ judged: Judged) throws { try judged.check() }

    @Test(
        "an object's keys on a Push to User",
        arguments: [
            Judged(#"{"topic":"t","objectID":"o"}"#, .pushToUser, by: ["topic"], despite: ["objectID"]),
            Judged(#"{"topic":"t","modifiedAt":1}"#, .pushToUser, by: ["topic"], despite: ["modifiedAt"]),
            Judged(
                #"{"topic":"t","modifiedAt":1,"objectID":"o"}"#, .pushToUser, by: ["topic"],
                despite: ["objectID", "modifiedAt"]),
        ])
    func objectOnTopic(_ judged: Judged) throws { try judged.check() }

    @Test(
        "an origin that says the other kind",
        arguments: [
            Judged(#"{"origin":"EXPLICIT","bucketID":"b"}"#, .pushToApp, by: ["bucketID"], despite: ["origin"]),
            Judged(#"{"origin":"EXPLICIT","bucketType":"rw"}"#, .pushToApp, by: ["bucketType"], despite: ["origin"]),
            Judged(
                #"{"origin":"EXPLICIT","sourceURI":"kiicloud://buckets/b"}"#, .pushToApp, by: ["sourceURI"],
                despite: ["origin"]),
            Judged(#"{"aps":{},"o":"EXPLICIT","bi":"b"}"#, .pushToApp, by: ["bi"], despite: ["origin"]),
            // On short keys EVENT is no witness, but without a bucket it contradicts.
            Judged(#"{"aps":{},"o":"EVENT"}"#, .directPush, by: [], despite: ["origin"]),
            Judged(#"{"aps":{},"o":"EVENT","to":"t"}"#, .pushToUser, by: ["to"], despite: ["origin"]),
        ])
    func origin(_ judged: Judged) throws { try judged.check() }

    @Test("EVENT with only a topic")
    func eventWithTopic() throws {
        let message = try PushMessage(json: #"{"origin":"EVENT","topic":"t","objectScopeType":"APP"}"#)
        #expect(message.kind == .pushToApp && message.certainty == .ambiguous)
        #expect(message.classification.conflicts.contains { $0.name == "origin" })
        #expect(message.topic == nil && message.bucket == nil)
    }

    @Test(
        "a source of another kind than the keys say",
        arguments: [
            Judged(
                #"{"topic":"t","sourceURI":"kiicloud://users/U"}"#, .pushToUser, by: ["topic"], despite: ["sourceURI"]),
            Judged(
                #"{"bucketID":"b","sourceURI":"kiicloud://topics/t"}"#, .pushToApp, by: ["bucketID"],
                despite: ["sourceURI"]),
            Judged(
                #"{"bucketID":"b","sourceURI":"kiicloud://users/U"}"#, .pushToApp, by: ["bucketID"],
                despite: ["sourceURI"]),
            Judged(
                #"{"origin":"EVENT","sourceURI":"kiicloud://topics/t"}"#, .pushToApp, by: ["origin"],
                despite: ["sourceURI"]),
            Judged(
                #"{"origin":"EVENT","sourceURI":"kiicloud://users/U"}"#, .pushToApp, by: ["origin"],
                despite: ["sourceURI"]),
            Judged(
                #"{"aps":{},"bi":"b","sourceURI":"kiicloud://topics/t"}"#, .pushToApp, by: ["bi"],
                despite: ["sourceURI"]),
        ])
    func sourceKind(_ judged: Judged) throws { try judged.check() }

    @Test("a topic beside a source with a bucket: the imitation is a Push to App, but ambiguous and without handles")
    func topicBesideBucketURI() throws {
        let message = try PushMessage(
            json: #"{"topic":"t","objectScopeType":"APP","sourceURI":"kiicloud://buckets/b/objects/o"}"#)
        #expect(message.kind == .pushToApp && message.certainty == .ambiguous)
        #expect(message.classification.conflicts.contains { $0.name == "sourceURI" })
        #expect(message.bucket == nil && message.object == nil && message.topic == nil)
    }

    private static let app = #""origin":"EVENT","bucketID":"b","objectID":"o","#
    private static let evidence = ["origin", "bucketID", "sourceURI"]

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
        let evidence = keys.contains("bucketType") ? ["origin", "bucketID", "bucketType", "sourceURI"] : Self.evidence
        try Judged("{\(Self.app)\(keys)}", .pushToApp, by: evidence, despite: ["sourceURI"]).check()
    }

    @Test(
        "a source with another topic or scope than the keys of a Push to User",
        arguments: [
            Judged(
                #"{"topic":"t","sourceURI":"kiicloud://topics/u"}"#, .pushToUser, by: ["topic", "sourceURI"],
                despite: ["sourceURI"]),
            Judged(
                #"{"topic":"t","objectScopeType":"APP","sourceURI":"kiicloud://users/U/topics/t"}"#, .pushToUser,
                by: ["topic", "sourceURI"], despite: ["sourceURI"]),
            Judged(
                #"{"topic":"t","objectScopeType":"APP_AND_GROUP","objectScopeGroupID":"G","sourceURI":"kiicloud://groups/H/topics/t"}"#,
                .pushToUser, by: ["topic", "sourceURI"], despite: ["sourceURI"]),
        ])
    func sourceTopic(_ judged: Judged) throws { try judged.check() }

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
        try Judged("{\(Self.app)\(keys)}", .pushToApp, by: Self.evidence).check()
    }

    @Test("a wrong type is a conflict under the field's name, and counts as absent", arguments: KiiField.allCases)
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
            Judged(
                #"{"aps":{"alert":{"body":"x"}},"s":"U","sa":"app","st":"APP_AND_USER","su":"U","w":1}"#, .pushToUser,
                by: ["sa", "su", "st"]),
            Judged(
                #"{"aps":{"alert":"x"},"s":"U-2","st":"APP_AND_GROUP","sg":"G1","w":5}"#, .pushToUser, by: ["sg", "st"]),
            Judged(#"{"aps":{},"st":"APP_AND_THING"}"#, .pushToUser, by: ["st"]),
            Judged(#"{"aps":{},"st":"APP_AND_USER","sg":"G"}"#, .pushToUser, by: ["sg", "st"]),
            Judged(#"{"su":"U"}"#, over: .apns, .pushToUser, by: ["su"]),
            Judged(#"{"sth":"th.1","sa":"app"}"#, over: .apns, .pushToUser, by: ["sa", "sth"]),
            Judged(#"{"objectScopeGroupID":"G","x":1}"#, over: .fcm, .pushToUser, by: ["objectScopeGroupID"]),
            Judged(
                #"{"cn.jpush.android.EXTRA":"{\"objectScopeType\":\"APP_AND_USER\",\"text\":\"x\"}"}"#, .pushToUser,
                by: ["objectScopeType"]),
            Judged(
                #"{"objectScopeType":"APP_AND_GROUP","senderURI":"kiicloud://users/U"}"#, over: .mqtt, .pushToUser,
                by: ["objectScopeType"]),
            Judged(
                #"{"dialog_id":"d","objectScopeType":"APP_AND_USER"}"#, .pushToUser, by: ["objectScopeType"]),
            // What belongs to buckets contradicts, as beside a topic.
            Judged(
                #"{"objectID":"o","modifiedAt":1,"objectScopeType":"APP_AND_USER","objectScopeUserID":"U"}"#,
                .pushToUser,
                by: ["objectScopeUserID", "objectScopeType"], despite: ["objectID", "modifiedAt"]),
            Judged(
                #"{"aps":{},"o":"EVENT","st":"APP_AND_USER"}"#, .pushToUser, by: ["st"], despite: ["origin"]),
            // The app's scope says nothing, whatever ids stand beside it: only the developer can send to its topics.
            Judged(#"{"aps":{},"st":"APP"}"#, .directPush, by: []),
            Judged(#"{"aps":{},"st":"APP","su":"U","sg":"G","sth":"th.1","sa":"app"}"#, .directPush, by: []),
            Judged(#"{"aps":{},"sa":"app"}"#, .directPush, by: []),
            Judged(#"{"objectID":"o","objectScopeType":"APP"}"#, .directPush, by: []),
            Judged(#"{"dialog_id":"d","objectScopeType":"APP"}"#, .directPush, by: []),
            Judged(
                #"{"sourceURI":"kiicloud://users/U","senderURI":"kiicloud://admins/APP_ADMIN","objectScopeType":"APP"}"#,
                over: .mqtt, .directPush, by: ["sourceURI", "senderURI"]),
            // Keys of the other style, blank ones, and those of a QuickBlox push state no scope.
            Judged(#"{"st":"APP_AND_USER","sg":"G1"}"#, .directPush, by: []),
            Judged(#"{"aps":{},"st":"","sg":" ","su":null}"#, .directPush, by: []),
        ])
    func scopeWithoutTopic(_ judged: Judged) throws {
        try judged.check()
        let message = try PushMessage(json: judged.payload, over: judged.transport)
        #expect(message.topic == nil && message.bucket == nil && message.object == nil)
    }

    @Test(
        "an owner's scope contradicts evidence for a Direct Push, and an unknown one contradicts alone",
        arguments: [
            Judged(#"{"aps":{},"st":"NEW","su":"U"}"#, .directPush, by: [], despite: ["objectScopeType"]),
            Judged(#"{"objectScopeType":"app"}"#, .directPush, by: [], despite: ["objectScopeType"]),
            Judged(
                #"{"sourceURI":"kiicloud://users/U","objectScopeType":"APP_AND_USER","objectScopeUserID":"U"}"#,
                over: .mqtt, .directPush, by: ["sourceURI"], despite: ["objectScopeType"]),
            Judged(
                #"{"senderURI":"kiicloud://admins/APP_ADMIN","objectScopeUserID":"U"}"#, over: .mqtt, .directPush,
                by: ["senderURI"], despite: ["objectScopeUserID"]),
            Judged(
                #"{"senderURI":"kiicloud://admins/APP_ADMIN","objectScopeType":"NEW"}"#, over: .mqtt, .directPush,
                by: ["senderURI"], despite: ["objectScopeType"]),
            Judged(
                #"{"commandID":"c","actions":[{"a":[{"x":1}]}],"objectScopeThingID":"th.1"}"#, over: .mqtt, .directPush,
                by: ["commandID", "actions"], despite: ["objectScopeThingID"]),
        ])
    func scopeOnDirectPush(_ judged: Judged) throws { try judged.check() }

    @Test(
        "another app than the receiver's is the conflict appID",
        arguments: [
            #"{"objectScopeAppID":"other","topic":"t"}"#, #"{"appID":"other","topic":"t"}"#,
            #"{"appID":"mine","objectScopeAppID":"other","topic":"t"}"#, #"{"aps":{},"sa":"other","to":"t"}"#,
            #"{"aps":{},"a":"other","to":"t"}"#,
        ])
    func otherApp(_ payload: String) throws {
        let evidence = payload.contains("aps") ? ["to"] : ["topic"]
        try Judged(payload, .pushToUser, by: evidence, despite: ["appID"]).check(app: "mine")
        // Without an app to compare with, nothing contradicts; nor when the payload names none, or the right one.
        try Judged(payload, .pushToUser, by: evidence).check()
        try Judged(payload, .pushToUser, by: evidence).check(app: "other")
        try Judged(#"{"topic":"t"}"#, .pushToUser, by: ["topic"]).check(app: "mine")
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
