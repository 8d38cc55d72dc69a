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

    @Test("a bucket's type is information beside its identity, but an encrypted bucket is another one")
    func identity() throws {
        let named = KiiBucket(scope: .app, name: "b")
        for type in ["rw", "RW", "sync", "new"] {
            for json in [
                #"{"aps":{},"bi":"b","bt":"\#(type)","oi":"o","st":"APP"}"#,
                #"{"bucketID":"b","bucketType":"\#(type)","objectID":"o","objectScopeType":"APP"}"#,
            ] {
                let message = try PushMessage(json: json)
                let bucket = try #require(BucketEvent(message)?.bucket)
                #expect(bucket == named && bucket.hashValue == named.hashValue && bucket.type?.rawName == type)
                #expect(message.object == KiiObject(bucket: named, id: "o"))
                #expect(Set([message.object, KiiObject(bucket: named, id: "o")]).count == 1)
            }
        }
        // It has another URI, and who fetches by the plain one finds another bucket or none.
        let encrypted = KiiBucket(scope: .app, name: "b", type: .crypto)
        #expect(
            encrypted != named && encrypted.uri != named.uri
                && KiiURI("kiicloud://buckets/CRYPTO:b")?.bucket == encrypted)
        #expect(KiiObject(bucket: encrypted, id: "o") != KiiObject(bucket: named, id: "o"))
        #expect(KiiBucket(scope: .app, name: "b", type: KiiBucketType("CRYPTO")) == encrypted)
    }
}
