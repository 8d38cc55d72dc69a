import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct KillTargetTests {
    @Test(
        "parses everything, a bucket or a route, and prints it as typed",
        arguments: [
            ("*", KillTarget.everything),
            ("kiicloud://buckets/b", .bucket(KiiURI(owner: .app, resource: .bucket(name: "b", isEncrypted: false)))),
            (
                "kiicloud://0123abcd/users/U-1/buckets/CRYPTO:b",
                .bucket(
                    KiiURI(appID: "0123abcd", owner: .user("U-1"), resource: .bucket(name: "b", isEncrypted: true)))
            ),
            ("settings", .route("settings")), ("a:b//c", .route("a:b//c")),
        ])
    func targets(text: String, target: KillTarget) {
        #expect(KillTarget(text) == target)
        #expect(target.description == text)
    }

    @Test(
        "refuses URIs of anything but buckets, patterns, and nothing at all",
        arguments: [
            "kiicloud://users/U-1", "kiicloud://topics/news", "kiicloud://buckets/b/objects/o", "kiicloud://",
            "kiicloud:b", "http://x", "://", "a://", "**", "ring*", "*ring", "",
        ])
    func noTargets(text: String) {
        #expect(KillTarget(text) == nil)
    }

    @Test("compares a route's id byte for byte")
    func exact() {
        let composed = KillTarget.route("\u{E9}")
        let decomposed = KillTarget.route("e\u{301}")
        #expect(composed != decomposed && Set([composed, decomposed, composed]).count == 2)
        let loopGuard = LoopGuard()
        loopGuard.kill(composed, for: .seconds(60))
        #expect(!loopGuard.killed.contains(decomposed))
    }

    @Test("targets of different kinds differ, equal ones hash equally")
    func kinds() throws {
        let bucket = try #require(KillTarget("kiicloud://buckets/b"))
        let other = try #require(KillTarget("kiicloud://buckets/c"))
        let targets = Set([.everything, bucket, other, .route("kiicloud://buckets/b"), .route("*")])
        #expect(targets.count == 5)
        #expect(targets.contains(.everything) && targets.contains(.route("*")))
        #expect(targets.contains(try #require(KillTarget("kiicloud://buckets/b"))))
    }
}
