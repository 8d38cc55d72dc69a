import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// What `sourceURI` adds to the keys.
struct SourceURITests {
    private static let scopes: [(prefix: String, scope: KiiScope)] = [
        ("", .app), ("users/U/", .user(KiiUser(id: "U"))), ("groups/G/", .group(KiiGroup(id: "G"))),
        ("things/th.1/", .thing(KiiThing(id: "th.1"))),
    ]

    @Test("a source alone names scope, bucket and object, or a topic, in every scope", arguments: scopes)
    func object(_ prefix: String, _ scope: KiiScope) throws {
        for app in ["", "0123abcd/"] {
            let uri = "kiicloud://\(app)\(prefix)buckets/b/objects/o"
            let message = try PushMessage(json: "{\"sourceURI\":\"\(uri)\"}")
            #expect(message.object == KiiObject(bucket: KiiBucket(scope: scope, name: "b"), id: "o"))
            #expect(message.scope.owner == scope && message.scope.typeName == scope.typeName)
            #expect(message.scope.id == scope.id)
            #expect(message.certainty == .certain)
            #expect(message.appID == (app.isEmpty ? nil : "0123abcd"))
        }
        let message = try PushMessage(json: "{\"sourceURI\":\"kiicloud://\(prefix)topics/t\"}")
        #expect(message.topic == KiiTopic(scope: scope, name: "t") && message.certainty == .certain)
    }

    @Test(
        "the source fills what the keys leave out",
        arguments: [
            #"{"origin":"EVENT","objectScopeType":"APP_AND_USER""#, #"{"origin":"EVENT","objectScopeUserID":"U""#,
            #"{"bucketID":"b","objectScopeType":"APP_AND_USER","objectScopeUserID":"U""#, #"{"bucketID":"b""#,
            #"{"bucketID":"b","objectID":"o""#, #"{"objectID":"o","objectScopeType":"APP_AND_USER""#,
            #"{"bucketType":"rw""#,
            #"{"bucketID":"","objectID":" ","objectScopeType":"","objectScopeUserID":"""#,
            #"{"aps":{},"bi":"b","st":"APP_AND_USER""#,
        ])
    func fills(_ keys: String) throws {
        let message = try PushMessage(json: keys + #","sourceURI":"kiicloud://users/U/buckets/b/objects/o"}"#)
        let bucket = KiiBucket(scope: .user(KiiUser(id: "U")), name: "b", type: message.bucket?.type)
        #expect(message.object == KiiObject(bucket: bucket, id: "o"))
        #expect(message.scopeUser == KiiUser(id: "U"))
        #expect(message.certainty == .certain)
    }

    @Test(
        "an id of the scope beside another's source is a conflict, whether or not the keys say which scope it is",
        arguments: [
            ("objectScopeUserID", "users"), ("objectScopeGroupID", "groups"), ("objectScopeThingID", "things"),
        ])
    func otherOwner(_ key: String, _ owners: String) throws {
        let uri = "kiicloud://\(owners)/A/buckets/b/objects/o"
        let same = try PushMessage(json: "{\"bucketID\":\"b\",\"\(key)\":\"A\",\"sourceURI\":\"\(uri)\"}")
        #expect(same.certainty == .certain && same.object?.id == "o")
        let other = try PushMessage(json: "{\"bucketID\":\"b\",\"\(key)\":\"B\",\"sourceURI\":\"\(uri)\"}")
        #expect(other.classification.conflicts.map(\.name) == ["sourceURI"])
        #expect(other.bucket == nil, "what contradicts fills nothing")
    }

    @Test("a source changes no field")
    func fieldsStay() throws {
        let message = try PushMessage(json: #"{"sourceURI":"kiicloud://users/U/buckets/b/objects/o"}"#)
        for field in KiiField.allCases where field != .sourceURI { #expect(message[field] == nil) }
        #expect(message[.sourceURI] == "kiicloud://users/U/buckets/b/objects/o")
    }

    @Test(
        "a source that contradicts fills nothing",
        arguments: [
            #"{"bucketID":"c","objectScopeType":"APP_AND_USER""#, #"{"objectID":"p","origin":"EVENT""#,
            #"{"bucketID":"b","objectScopeType":"APP_AND_GROUP""#,
        ])
    func contradicting(_ keys: String) throws {
        let message = try PushMessage(json: keys + #","sourceURI":"kiicloud://users/U/buckets/b/objects/o"}"#)
        #expect(message.certainty == .ambiguous)
        #expect(message.bucket == nil && message.object == nil && message.scopeUser == nil)
    }

    @Test(
        "a recipient contradicts no scope; that a Direct Push states an owner's is the conflict",
        arguments: [
            (#""objectScopeType":"APP""#, nil),
            (#""objectScopeType":"APP_AND_GROUP","objectScopeGroupID":"G""#, KiiField.scopeType),
            (#""objectScopeType":"APP_AND_USER","objectScopeUserID":"U""#, .scopeType),
            (#""objectScopeType":"APP_AND_USER","objectScopeUserID":"V""#, .scopeType),
            (#""objectScopeUserID":"U""#, .scopeUserID), (#""objectScopeAppID":"other""#, nil),
        ])
    func recipientBesideScope(_ keys: String, _ field: KiiField?) throws {
        let judged = Judged.direct(
            "{\(keys),\"sourceURI\":\"kiicloud://app/users/U\"}", by: "sourceURI", despite: field?.longName ?? "")
        try judged.check()
        // The recipient fills no scope.
        #expect(
            try PushMessage(json: judged.payload).scopeUser?.id
                == (!keys.contains("Type") ? nil : keys.contains("\"V\"") ? "V" : keys.contains("\"U\"") ? "U" : nil))
    }

    @Test(
        "an encrypted bucket is known by its segment",
        arguments: [
            #""bucketID":"b","objectScopeType":"APP","#, #""bucketType":"crypto","bucketID":"b","#,
            #""bucketType":"CRYPTO","#, "",
        ])
    func encrypted(_ keys: String) throws {
        let message = try PushMessage(json: "{\(keys)\"sourceURI\":\"kiicloud://buckets/CRYPTO:b/objects/o\"}")
        #expect(message.certainty == .certain)
        #expect(message.bucket == KiiBucket(scope: .app, name: "b", type: .crypto))
        #expect(message.object?.uri.description == "kiicloud://buckets/CRYPTO:b/objects/o")
    }

    @Test("a source with escapes is read like any other")
    func escaped() throws {
        let message = try PushMessage(json: #"{"sourceURI":"kiicloud:\/\/users\/U\/topics\/t\u0031"}"#)
        #expect(message.topic == KiiTopic(scope: .user(KiiUser(id: "U")), name: "t1"))
    }
}
