import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct KiiURITests {
    private static let owners: [(text: String, owner: KiiURI.Owner)] = [
        ("", .app), ("users/727f20b00022-8d18-5e11-991f-06db2509", .user("727f20b00022-8d18-5e11-991f-06db2509")),
        ("groups/kiicorp", .group("kiicorp")),
        ("things/th.aba700e36100-4558-5e11-bb5b-082ac14a", .thing("th.aba700e36100-4558-5e11-bb5b-082ac14a")),
        ("things/VENDOR_THING_ID:v-1", .thing("VENDOR_THING_ID:v-1")),
    ]
    private static let resources: [(text: String, resource: KiiURI.Resource)] = [
        ("", .none), ("buckets/b", .bucket(name: "b", isEncrypted: false)),
        ("buckets/_states", .bucket(name: "_states", isEncrypted: false)),
        ("buckets/CRYPTO:b", .bucket(name: "b", isEncrypted: true)),
        ("buckets/b/objects/o.1_x-Y", .object(bucket: "b", isEncrypted: false, id: "o.1_x-Y")),
        ("buckets/CRYPTO:b/objects/o", .object(bucket: "b", isEncrypted: true, id: "o")),
        ("topics/MyTopic", .topic("MyTopic")),
    ]

    @Test(
        "every form parses into its parts and prints as it was, with and without an app id", arguments: owners,
        resources)
    func forms(_ owner: (text: String, owner: KiiURI.Owner), _ resource: (text: String, resource: KiiURI.Resource)) {
        if owner.text.isEmpty, resource.text.isEmpty { return }
        for app in [nil, "0123abcd", "AbCd", "users", "12345678"] {
            let text =
                "kiicloud://" + [app ?? "", owner.text, resource.text].filter { !$0.isEmpty }.joined(separator: "/")
            let expected = KiiURI(appID: app, owner: owner.owner, resource: resource.resource)
            #expect(KiiURI(text) == expected)
            #expect(expected.description == text)
            #expect(KiiURI(text)?.description == text)
        }
    }

    @Test("an administrator owns no bucket and no topic", arguments: [nil, "0123abcd"])
    func admin(_ app: String?) {
        let text = "kiicloud://" + (app.map { $0 + "/" } ?? "") + "admins/APP_ADMIN"
        #expect(KiiURI(text) == KiiURI(appID: app, owner: .admin("APP_ADMIN")))
        #expect(KiiURI(text)?.description == text)
        #expect(KiiURI(text + "/buckets/b") == nil && KiiURI(text + "/topics/t") == nil)
    }

    @Test(
        "does not decode, normalise or fold a URI",
        arguments: [
            "kiicloud://users/U%20x/buckets/b", "kiicloud://users/../topics/t", "kiicloud://users/Ü/topics/日本",
            "kiicloud://users/U?x=1#y/topics/t:8", "kiicloud://AbC/users/UsEr/buckets/BuCkEt/objects/ObJeCt",
            "kiicloud://users/users/buckets/buckets/objects/objects", "kiicloud://topics/buckets",
            "kiicloud://buckets/topics", "kiicloud://buckets/crypto:b", "kiicloud://users/CRYPTO:U/topics/CRYPTO:t",
            "kiicloud://users/U \n",
        ])
    func untouched(_ text: String) {
        #expect(KiiURI(text)?.description == text)
    }

    @Test("an odd number of segments begins with an app id, whatever it is called")
    func oddAndEven() {
        #expect(KiiURI("kiicloud://users/buckets/b")?.appID == "users")
        #expect(KiiURI("kiicloud://users/topics/t") == KiiURI(appID: "users", owner: .app, resource: .topic("t")))
        #expect(KiiURI("kiicloud://buckets/users/U") == KiiURI(appID: "buckets", owner: .user("U")))
        #expect(KiiURI("kiicloud://users/U")?.appID == nil)
    }

    @Test(
        "rejects other URIs",
        arguments: [
            "", "kiicloud", "kiicloud:", "kiicloud:/", "kiicloud://", "kiicloud:///", "kiicloud://x",
            "kiicloud://users", "kiicloud://users/", "kiicloud:///users/U", "kiicloud://users//U",
            "kiicloud://users/U/", "kiicloud://users/U/buckets", "kiicloud://users/U/buckets/",
            "kiicloud://users/U//buckets/b", "kiicloud://users/U/buckets/b/", "kiicloud://users/U/buckets/b/objects",
            "kiicloud://users/U/buckets/b/objects/", "kiicloud://users/U/buckets/b/objects/o/",
            "kiicloud://users/U/buckets/b/objects/o/x/y", "kiicloud://a/users/U/buckets/b/objects/o/x",
            "kiicloud://a/users/U/buckets/b/objects/o/x/y", "kiicloud://users/U/topics/t/objects/o",
            "kiicloud://users/U/buckets/b/topics/t", "kiicloud://users/U/topics/t/buckets/b",
            "kiicloud://users/U/groups/G", "kiicloud://people/U", "kiicloud://Users/U", "kiicloud://users/U/Buckets/b",
            "kiicloud://users/U/buckets/b/Objects/o", "kiicloud://buckets/b/files/f", "kiicloud://buckets/CRYPTO:",
            "kiicloud://buckets/CRYPTO:/objects/o", "KIICLOUD://users/U", "Kiicloud://users/U", "kiicloud:/users/U",
            "//users/U", "users/U", "http://users/U", " kiicloud://users/U", "kiicloud://a/b", "kiicloud://a/b/c",
            "kiicloud://objects/o",
        ])
    func none(_ text: String) {
        #expect(KiiURI(text) == nil)
    }
}

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
        #expect(scope.description == (id.map { "\(scope.kind) \($0)" } ?? "the app"))
    }

    @Test("handles are made from scopes, owners and buckets, and read from their URIs", arguments: scopes)
    func made(_ scope: KiiScope, _ prefix: String, _ type: String, _ id: String?) {
        let (topic, bucket) = (KiiTopic(scope: scope, name: "t"), KiiBucket(scope: scope, name: "b"))
        let made: (KiiTopic, KiiBucket) =
            switch scope {
            case .app: (scope.topic("t"), scope.bucket("b"))
            case .user(let user): (user.topic("t"), user.bucket("b"))
            case .group(let group): (group.topic("t"), group.bucket("b"))
            case .thing(let thing): (thing.topic("t"), thing.bucket("b"))
            }
        #expect(made == (topic, bucket) && bucket.object("o") == KiiObject(bucket: bucket, id: "o"))
        let encrypted = KiiBucket(scope: scope, name: "b", type: .crypto)
        for prefix in [prefix, prefix.replacing("kiicloud://", with: "kiicloud://0123abcd/")] {
            #expect(KiiTopic(uri: prefix + "topics/t") == topic)
            #expect(KiiBucket(uri: prefix + "buckets/b") == bucket)
            #expect(KiiBucket(uri: prefix + "buckets/CRYPTO:b") == encrypted)
            #expect(KiiObject(uri: prefix + "buckets/b/objects/o") == bucket.object("o"))
            #expect(KiiObject(uri: prefix + "buckets/CRYPTO:b/objects/o") == encrypted.object("o"))
        }
    }

    @Test("owners have URIs, and are read from them")
    func owners() {
        #expect(KiiUser(id: "U").uri.description == "kiicloud://users/U")
        #expect(KiiGroup(id: "G").uri.description == "kiicloud://groups/G")
        #expect(KiiThing(id: "th.1").uri.description == "kiicloud://things/th.1")
        for prefix in ["kiicloud://", "kiicloud://0123abcd/"] {
            #expect(KiiUser(uri: prefix + "users/U") == KiiUser(id: "U"))
            #expect(KiiGroup(uri: prefix + "groups/G") == KiiGroup(id: "G"))
            #expect(KiiThing(uri: prefix + "things/VENDOR_THING_ID:v") == KiiThing(id: "VENDOR_THING_ID:v"))
        }
    }

    @Test(
        "a URI of something else, or none, makes no handle",
        arguments: [
            ("kiicloud://users/U", "user"), ("kiicloud://groups/G", "group"), ("kiicloud://things/th.1", "thing"),
            ("kiicloud://users/U/topics/t", "topic"), ("kiicloud://topics/t", "topic"),
            ("kiicloud://groups/G/buckets/b", "bucket"), ("kiicloud://things/th.1/buckets/b/objects/o", "object"),
            ("kiicloud://admins/APP_ADMIN", ""), ("kiicloud://users/", ""), ("https://users/U", ""), ("U", ""),
            ("", ""),
        ])
    func onlyItsOwn(_ uri: String, _ kind: String) {
        let read: [(String, Any?)] = [
            ("user", KiiUser(uri: uri)), ("group", KiiGroup(uri: uri)), ("thing", KiiThing(uri: uri)),
            ("topic", KiiTopic(uri: uri)), ("bucket", KiiBucket(uri: uri)), ("object", KiiObject(uri: uri)),
        ]
        #expect(read.filter { $0.1 != nil }.map(\.0) == [kind].filter { !$0.isEmpty })
    }

    @Test("handles differ by scope, name and id")
    func equality() {
        let handles: [KiiObject] = Self.scopes.flatMap { it in
            ["b", "B"].flatMap { name in
                ["o", "O"].map { KiiObject(bucket: KiiBucket(scope: it.scope, name: name), id: $0) }
            }
        }
        #expect(Set(handles).count == 16)
        #expect(KiiScope.user(KiiUser(id: "x")) != .group(KiiGroup(id: "x")))
    }

    @Test("compares handles and URIs byte for byte")
    func bytes() {
        // To Swift these two strings are equal.
        let (one, other) = ("\u{E9}", "e\u{301}")
        func differ<Handle: Hashable>(_ make: (String) -> Handle) -> Bool {
            make(one) != make(other) && make(one) == make(one) && Set([make(one), make(other), make(one)]).count == 2
        }
        #expect(differ { KiiUser(id: $0) } && differ { KiiGroup(id: $0) } && differ { KiiThing(id: $0) })
        #expect(differ { KiiScope.user(KiiUser(id: $0)) } && differ { KiiScope.group(KiiGroup(id: $0)) })
        #expect(differ { KiiBucket(scope: .app, name: $0) } && differ { KiiTopic(scope: .app, name: $0) })
        #expect(differ { KiiObject(bucket: KiiBucket(scope: .app, name: "b"), id: $0) })
        #expect(differ { KiiTopic(scope: .thing(KiiThing(id: $0)), name: "t") })
        #expect(differ { Sender.user(id: $0) } && differ { Sender.admin($0) })
        #expect(differ { KiiURI(owner: .group($0)) } && differ { KiiURI(owner: .app, resource: .topic($0)) })
        #expect(differ { KiiURI("kiicloud://buckets/\($0)") } && differ { KiiEvent($0) })
        #expect(KiiURI.Owner.user("x") != .thing("x") && KiiURI.Owner.app == .app)
        #expect(KiiURI.Resource.bucket(name: "b", isEncrypted: true) != .bucket(name: "b", isEncrypted: false))
    }
}

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
}

struct PushKindTests {
    @Test("kinds print Kii's names, and have raw values of their own")
    func kinds() {
        #expect(PushKind.allCases.map(\.description) == ["Push to App", "Push to User", "Direct Push"])
        #expect(PushKind.allCases.map(\.rawValue) == ["pushToApp", "pushToUser", "directPush"])
        #expect(Certainty.allCases.map(\.rawValue) == ["certain", "likely", "ambiguous"])
    }
}
