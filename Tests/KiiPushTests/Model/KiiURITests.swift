import Testing

@testable import KiiPush

struct KiiURITests {
    @Test("compares URIs byte for byte")
    func bytes() throws {
        let composed = try #require(KiiURI("kiicloud://buckets/\u{E9}"))
        let decomposed = try #require(KiiURI("kiicloud://buckets/e\u{301}"))
        #expect(composed != decomposed && Set([composed, decomposed, composed]).count == 2)
        #expect(composed == KiiURI(owner: .app, resource: .bucket(name: "\u{E9}", isEncrypted: false)))
    }

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
        if owner.owner == .app, resource.resource == .none { return }
        for app in [nil, "0123abcd", "AbCd", "users", "12345678"] {
            let text =
                "kiicloud://" + [app ?? "", owner.text, resource.text].filter { !$0.isEmpty }.joined(separator: "/")
            let expected = KiiURI(appID: app, owner: owner.owner, resource: resource.resource)
            #expect(KiiURI(text) == expected)
            #expect(expected.description == text)
            #expect(KiiURI(text)?.description == text)
        }
    }

    @Test("an administrator is an owner without anything", arguments: [nil, "0123abcd"])
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
            "kiicloud://users", "kiicloud://users/",
            "kiicloud:///users/U", "kiicloud://users//U", "kiicloud://users/U/", "kiicloud://users/U/buckets",
            "kiicloud://users/U/buckets/",
            "kiicloud://users/U//buckets/b", "kiicloud://users/U/buckets/b/", "kiicloud://users/U/buckets/b/objects",
            "kiicloud://users/U/buckets/b/objects/", "kiicloud://users/U/buckets/b/objects/o/",
            "kiicloud://users/U/buckets/b/objects/o/x/y",
            "kiicloud://a/users/U/buckets/b/objects/o/x", "kiicloud://a/users/U/buckets/b/objects/o/x/y",
            "kiicloud://users/U/topics/t/objects/o", "kiicloud://users/U/buckets/b/topics/t",
            "kiicloud://users/U/topics/t/buckets/b",
            "kiicloud://users/U/groups/G", "kiicloud://people/U", "kiicloud://Users/U", "kiicloud://users/U/Buckets/b",
            "kiicloud://users/U/buckets/b/Objects/o", "kiicloud://buckets/b/files/f", "kiicloud://buckets/CRYPTO:",
            "kiicloud://buckets/CRYPTO:/objects/o", "KIICLOUD://users/U", "Kiicloud://users/U", "kiicloud:/users/U",
            "//users/U", "users/U",
            "http://users/U", " kiicloud://users/U", "kiicloud://a/b", "kiicloud://a/b/c", "kiicloud://objects/o",
        ])
    func none(_ text: String) {
        #expect(KiiURI(text) == nil)
    }
}
