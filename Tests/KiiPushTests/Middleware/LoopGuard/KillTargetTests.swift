import Testing

@testable import KiiPush

struct KillTargetTests {
    @Test(
        "a target is read as everything, a bucket or a route, and prints as it was typed",
        arguments: [
            ("*", KillTarget.everything),
            ("kiicloud://buckets/b", .bucket(KiiURI(owner: .app, resource: .bucket(name: "b", isEncrypted: false)))),
            (
                "kiicloud://0123abcd/users/U-1/buckets/CRYPTO:b",
                .bucket(
                    KiiURI(appID: "0123abcd", owner: .user("U-1"), resource: .bucket(name: "b", isEncrypted: true)))
            ),
            ("settings", .route("settings")), ("", .route("")), ("**", .route("**")),
        ])
    func targets(text: String, target: KillTarget) {
        #expect(KillTarget(text) == target)
        #expect(target.description == text)
    }

    @Test(
        "a URI of no bucket is no target, for as a route's id it would stop nothing",
        arguments: [
            "kiicloud://users/U-1", "kiicloud://topics/news", "kiicloud://buckets/b/objects/o", "kiicloud://",
            "kiicloud:b",
        ])
    func noTargets(text: String) {
        #expect(KillTarget(text) == nil)
    }
}
