import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct KiiBucketTypeTests {
    @Test(
        "types compare and hash without case, and keep their text",
        arguments: [
            ("rw", KiiBucketType.readWrite), ("RW", .readWrite), ("sync", .sync), ("SYNC", .sync), ("Sync", .sync),
            ("crypto", .crypto), ("CRYPTO", .crypto),
        ])
    func known(_ name: String, _ type: KiiBucketType) {
        let read = KiiBucketType(name)
        #expect(read == type && read.hashValue == type.hashValue)
        #expect(read.rawName == name && read.description == name)
    }

    @Test("preserves an unknown bucket type")
    func unknown() {
        #expect(KiiBucketType("new") == KiiBucketType("NEW") && KiiBucketType("new") != .readWrite)
        #expect(Set(["rw", "sync", "crypto", "RW", "SYNC", "new"].map { KiiBucketType($0) }).count == 4)
    }

    @Test("a bucket's type is no part of its identity, except that it is encrypted")
    func identity() {
        let named = KiiBucket(scope: .app, name: "b")
        for type in ["rw", "RW", "sync", "new"] {
            let bucket = KiiBucket(scope: .app, name: "b", type: KiiBucketType(type))
            #expect(bucket == named && bucket.hashValue == named.hashValue && bucket.type?.rawName == type)
            #expect(Set([bucket.object("o"), named.object("o")]).count == 1)
        }
        // It has another URI, and who fetches by the plain one finds another bucket or none.
        let encrypted = KiiBucket(scope: .app, name: "b", type: .crypto)
        #expect(encrypted != named && encrypted.uri != named.uri && encrypted.object("o") != named.object("o"))
        #expect(KiiURI("kiicloud://buckets/CRYPTO:b")?.bucket == encrypted)
        #expect(KiiBucket(scope: .app, name: "b", type: KiiBucketType("CRYPTO")) == encrypted)
    }
}

struct KiiEventTests {
    @Test(
        "the documented events have their names",
        arguments: [
            (KiiEvent.objectCreated, "DATA_OBJECT_CREATED"), (.objectUpdated, "DATA_OBJECT_UPDATED"),
            (.objectDeleted, "DATA_OBJECT_DELETED"),
            (.objectBodyUpdated, "DATA_OBJECT_BODY_UPDATED"), (.objectBodyDeleted, "DATA_OBJECT_BODY_DELETED"),
            (.objectACLModified, "DATA_OBJECT_ACL_MODIFIED"), (.bucketDeleted, "BUCKET_DELETED"),
        ])
    func names(_ event: KiiEvent, _ name: String) throws {
        #expect(event.name == name && event.description == name && event == KiiEvent(name))
        #expect(try PushMessage(json: "{\"bucketID\":\"b\",\"type\":\"\(name)\"}").event == event)
        #expect(try PushMessage(json: "{\"aps\":{},\"bi\":\"b\",\"t\":\"\(name)\"}").event == event)
    }

    @Test("compares events exactly, and accepts any text")
    func open() throws {
        #expect(KiiEvent("data_object_created") != .objectCreated && KiiEvent("DATA_OBJECT_CREATED ") != .objectCreated)
        #expect(try PushMessage(json: #"{"topic":"t","type":"my own"}"#).event == "my own")
        #expect(try PushMessage(json: #"{"topic":"t","type":""}"#).event == nil)
    }

    @Test("both names of a body update are equal, and keep their text")
    func bodyUpdated() throws {
        let other = try #require(
            try PushMessage(json: #"{"bucketID":"b","type":"DATA_OBJECT_BODY_UPDATE"}"#).event)
        #expect(other == .objectBodyUpdated && other.name == "DATA_OBJECT_BODY_UPDATE" && "\(other)" == other.name)
        #expect(Set([other, .objectBodyUpdated]).count == 1)
        for name in [
            "DATA_OBJECT_BODY_UPDAT", "DATA_OBJECT_BODY_UPDATES", "data_object_body_update", "DATA_OBJECT_UPDATE",
        ] {
            #expect(KiiEvent(name) != .objectBodyUpdated && KiiEvent(name) != other)
        }
        #expect(KiiEvent("DATA_OBJECT_UPDATE") != .objectUpdated)
    }

    @Test("hashes events by their bytes")
    func inASet() {
        #expect(Set([KiiEvent.objectCreated, "DATA_OBJECT_CREATED", "\u{E9}", "e\u{301}"]).count == 3)
    }
}

struct PushKindTests {
    @Test("kinds print Kii's names, and have raw values of their own")
    func kinds() {
        #expect(PushKind.allCases.map(\.description) == ["Push to App", "Push to User", "Direct Push"])
        #expect(PushKind.allCases.map(\.rawValue) == ["pushToApp", "pushToUser", "directPush"])
        #expect(Certainty.allCases.map(\.rawValue) == ["certain", "likely", "ambiguous"])
    }
}
