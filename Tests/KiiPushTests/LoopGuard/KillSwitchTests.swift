import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct KillSwitchTests {
    let clock = ManualClock()

    @Test("killing everything drops every message, with and without a route, until the kill or the layer is off")
    func killEverything() throws {
        let loopGuard = LoopGuard(clock: clock)
        loopGuard.kill(.everything, for: .seconds(60))
        for (name, _, _, _, payload) in PayloadFixture.matrix {
            #expect(try loopGuard.judge(payload) == "killSwitch", "\(name)")
            #expect(try loopGuard.judge(payload, routes: []) == "killSwitch", "\(name)")
        }
        let payload = PayloadFixture.pushToApp().payload(.long)
        loopGuard.settings.layers.remove(.killSwitch)
        #expect(try loopGuard.judge(payload) == "pass")
        loopGuard.settings.layers.insert(.killSwitch)
        #expect(try loopGuard.judge(payload) == "killSwitch")
        loopGuard.revive(.everything)
        for (_, _, _, _, payload) in PayloadFixture.matrix {
            #expect(try loopGuard.judge(payload, routes: []) == "pass")
        }
    }

    @Test("a kill ends by itself, at its end and not before, whatever a list says")
    func end() throws {
        let loopGuard = LoopGuard(clock: clock)
        let payload = PayloadFixture.pushToApp().payload(.long)
        loopGuard.kill(.everything, for: .seconds(60))
        loopGuard.setKills([.everything: .seconds(1)])
        clock.advance(by: .milliseconds(59_999))
        #expect(loopGuard.killed == [.everything])
        #expect(try loopGuard.judge(payload, at: clock.now) == "killSwitch")
        clock.advance(by: .milliseconds(1))
        #expect(loopGuard.killed.isEmpty)
        #expect(try loopGuard.judge(payload, at: clock.now) == "pass")
        #expect(try loopGuard.judge(payload, at: clock.now) == "pass")
    }

    @Test("reviving one target leaves the others off, and reviving what is not off does nothing")
    func reviveOne() throws {
        let loopGuard = LoopGuard(clock: clock)
        let bucket = try #require(KillTarget("kiicloud://buckets/settings"))
        loopGuard.kill(bucket, for: .seconds(60))
        loopGuard.kill(.route("a"), for: .seconds(60))
        loopGuard.revive(.route("a"))
        loopGuard.revive(.everything)
        #expect(loopGuard.killed == [bucket])
        #expect(try loopGuard.judge(PayloadFixture.pushToApp().payload(.long)) == "killSwitch")
    }

    @Test("of more than 1,024 kills the one that would end first is given up")
    func limit() {
        let loopGuard = LoopGuard(clock: clock)
        for number in 1...1026 { loopGuard.kill(.route("\(number)"), for: .seconds(2000 - Int64(number))) }
        #expect(loopGuard.killed.count == 1024)
        #expect(loopGuard.killed.contains(.route("1")) && !loopGuard.killed.contains(.route("1026")))
    }

    private static let mine = KiiScope.user(KiiUser(id: "U-1"))
    private static let encrypted: PayloadFixture = {
        var fixture = PayloadFixture.pushToApp()
        fixture.fields[.bucketType] = "crypto"
        return fixture
    }()

    /// A bucket, what is killed with it, and what is not.
    static let buckets: [(bucket: String, killed: PayloadFixture, passing: [PayloadFixture])] = [
        (
            "users/U-1/buckets/settings", .pushToApp(scope: mine),
            [
                .pushToApp(), .pushToApp(bucket: "other", scope: mine), .pushToApp(scope: .user(KiiUser(id: "U-2"))),
                .pushToApp(scope: .group(KiiGroup(id: "U-1"))), .pushToUser(topic: "settings", scope: mine),
                .directPush(),
            ]
        ),
        ("0123abcd/buckets/settings", .pushToApp(), [.pushToApp(app: "ffff0000")]),
        ("buckets/CRYPTO:settings", encrypted, [.pushToApp()]), ("buckets/settings", .pushToApp(), [encrypted]),
    ]

    @Test("killing a bucket drops the messages about it, over every transport, and no others", arguments: buckets)
    func killBucket(bucket: String, killed: PayloadFixture, passing: [PayloadFixture]) throws {
        let loopGuard = LoopGuard(clock: clock)
        loopGuard.kill(try #require(KillTarget("kiicloud://\(bucket)")), for: .seconds(60))
        for style in PayloadFixture.KeyStyle.allCases {
            #expect(try loopGuard.judge(killed.payload(style)) == "killSwitch")
        }
        for fixture in passing { #expect(try loopGuard.judge(fixture.payload(.long)) == "pass") }
    }

    @Test("a payload that names no app is the receiver's")
    func namelessApp() throws {
        let loopGuard = LoopGuard(clock: clock)
        loopGuard.kill(try #require(KillTarget("kiicloud://0123abcd/buckets/settings")), for: .seconds(60))
        var nameless = PayloadFixture.pushToApp()
        nameless.fields[.appID] = nil
        nameless.fields[.scopeAppID] = nil
        #expect(try loopGuard.judge(nameless.payload(.long), app: "0123abcd") == "killSwitch")
        #expect(try loopGuard.judge(nameless.payload(.long), app: "ffff0000") == "pass")
    }

    @Test("an own message ends as identity even while everything is killed")
    func identityFirst() throws {
        let loopGuard = LoopGuard(me: [.thing(id: "th.1")], clock: clock)
        loopGuard.kill(.everything, for: .seconds(60))
        let payload = PayloadFixture.pushToApp(sender: "th.1").payload(.long)
        #expect(try loopGuard.judge(payload) == "identity")
    }
}

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
        "refuses URIs of anything but buckets, and patterns",
        arguments: [
            "kiicloud://users/U-1", "kiicloud://topics/news", "kiicloud://buckets/b/objects/o", "kiicloud://",
            "kiicloud:b", "http://x", "://", "a://", "**", "ring*", "*ring", "",
        ])
    func noTargets(text: String) {
        #expect(KillTarget(text) == nil)
    }

    @Test("targets of different kinds differ, and those of other bytes; equal ones hash equally")
    func kinds() throws {
        let bucket = try #require(KillTarget("kiicloud://buckets/b"))
        let other = try #require(KillTarget("kiicloud://buckets/c"))
        let targets = Set([
            .everything, bucket, other, .route("kiicloud://buckets/b"), .route("*"), .route("\u{E9}"),
            .route("e\u{301}"),
        ])
        #expect(targets.count == 7)
        #expect(targets.contains(.everything) && targets.contains(.route("*")))
        #expect(targets.contains(try #require(KillTarget("kiicloud://buckets/b"))))
    }
}
