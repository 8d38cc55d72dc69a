import Testing

@testable import KiiPush

/// The URIs of buckets, objects, topics and owners, in every scope.
struct HandleURITests {
    private static let scopes: [(scope: KiiScope, prefix: String, type: String, id: String?)] = [
        (.app, "kiicloud://", "APP", nil), (.user(KiiUser(id: "U")), "kiicloud://users/U/", "APP_AND_USER", "U"),
        (.group(KiiGroup(id: "G")), "kiicloud://groups/G/", "APP_AND_GROUP", "G"),
        (.thing(KiiThing(id: "th.1")), "kiicloud://things/th.1/", "APP_AND_THING", "th.1"),
    ]

    @Test("buckets, objects and topics have the URIs of their scope, which parse back", arguments: scopes)
    func scoped(_ scope: KiiScope, _ prefix: String, _ type: String, _ id: String?) {
        let bucket = KiiBucket(scope: scope, name: "b")
        let encrypted = KiiBucket(scope: scope, name: "b", type: KiiBucketType("Crypto"))
        let expected: [(KiiURI, String)] = [
            (bucket.uri, "buckets/b"), (KiiBucket(scope: scope, name: "b", type: .sync).uri, "buckets/b"),
            (encrypted.uri, "buckets/CRYPTO:b"), (KiiObject(bucket: bucket, id: "o").uri, "buckets/b/objects/o"),
            (KiiObject(bucket: encrypted, id: "o").uri, "buckets/CRYPTO:b/objects/o"),
            (KiiTopic(scope: scope, name: "t").uri, "topics/t"),
        ]
        for (uri, text) in expected {
            #expect(uri.description == prefix + text)
            #expect(KiiURI(uri.description) == uri)
        }
        #expect(scope.typeName == type && scope.id == id)
    }

    @Test("owners have URIs of their own")
    func owners() {
        #expect(KiiUser(id: "U").uri.description == "kiicloud://users/U")
        #expect(KiiGroup(id: "G").uri.description == "kiicloud://groups/G")
        #expect(KiiThing(id: "th.1").uri.description == "kiicloud://things/th.1")
    }

    @Test("handles of other scopes, names or ids are others")
    func equality() {
        let handles: [KiiObject] = Self.scopes.flatMap { it in
            ["b", "B"].flatMap { name in
                ["o", "O"].map { KiiObject(bucket: KiiBucket(scope: it.scope, name: name), id: $0) }
            }
        }
        #expect(Set(handles).count == 16)
        #expect(KiiScope.user(KiiUser(id: "x")) != .group(KiiGroup(id: "x")))
    }
}
