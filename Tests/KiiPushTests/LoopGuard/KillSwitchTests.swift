import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct KillSwitchTests {
    let clock = ManualClock()

    @Test("killing everything drops every message, whether or not a route takes it, until it is revived")
    func killEverything() throws {
        let loopGuard = LoopGuard(clock: clock)
        loopGuard.kill(.everything, for: .seconds(60))
        for (name, _, _, _, payload) in PayloadFixture.matrix {
            #expect(try loopGuard.judge(payload) == "killSwitch", "\(name)")
            #expect(try loopGuard.judge(payload, routes: []) == "killSwitch", "\(name)")
        }
        loopGuard.revive(.everything)
        for (_, _, _, _, payload) in PayloadFixture.matrix {
            #expect(try loopGuard.judge(payload, routes: []) == "pass")
        }
    }

    @Test("a kill ends by itself, at its end and not before")
    func end() throws {
        let loopGuard = LoopGuard(clock: clock)
        let payload = PayloadFixture.pushToApp().payload(.long)
        loopGuard.kill(.everything, for: .seconds(60))
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

    @Test("killing a bucket drops the messages about it, over every transport, and no others")
    func killBucket() throws {
        let loopGuard = LoopGuard(clock: clock)
        loopGuard.kill(try #require(KillTarget("kiicloud://users/U-1/buckets/settings")), for: .seconds(60))
        let mine = KiiScope.user(KiiUser(id: "U-1"))
        for style in PayloadFixture.KeyStyle.allCases {
            #expect(try loopGuard.judge(PayloadFixture.pushToApp(scope: mine).payload(style)) == "killSwitch")
        }
        let others: [PayloadFixture] = [
            .pushToApp(), .pushToApp(bucket: "other", scope: mine), .pushToApp(scope: .user(KiiUser(id: "U-2"))),
            .pushToApp(scope: .group(KiiGroup(id: "U-1"))), .pushToUser(topic: "settings", scope: mine), .directPush(),
        ]
        for fixture in others { #expect(try loopGuard.judge(fixture.payload(.long)) == "pass") }
    }

    @Test("a bucket's URI may name its app, which must then be the message's")
    func killBucketOfApp() throws {
        let loopGuard = LoopGuard(clock: clock)
        loopGuard.kill(try #require(KillTarget("kiicloud://0123abcd/buckets/settings")), for: .seconds(60))
        #expect(try loopGuard.judge(PayloadFixture.pushToApp().payload(.long)) == "killSwitch")
        #expect(try loopGuard.judge(PayloadFixture.pushToApp(app: "ffff0000").payload(.long)) == "pass")
        // A payload that names no app is the receiver's.
        var nameless = PayloadFixture.pushToApp()
        nameless.fields[.appID] = nil
        nameless.fields[.scopeAppID] = nil
        #expect(try loopGuard.judge(nameless.payload(.long), app: "0123abcd") == "killSwitch")
        #expect(try loopGuard.judge(nameless.payload(.long), app: "ffff0000") == "pass")
    }

    @Test("an encrypted bucket is another one than the plain one of the same name")
    func killEncrypted() throws {
        let loopGuard = LoopGuard(clock: clock)
        loopGuard.kill(try #require(KillTarget("kiicloud://buckets/CRYPTO:settings")), for: .seconds(60))
        var encrypted = PayloadFixture.pushToApp()
        encrypted.fields[.bucketType] = "crypto"
        #expect(try loopGuard.judge(encrypted.payload(.long)) == "killSwitch")
        #expect(try loopGuard.judge(PayloadFixture.pushToApp().payload(.long)) == "pass")
    }

    @Test("an own message ends as identity even while everything is killed")
    func identityFirst() throws {
        let loopGuard = LoopGuard(me: [.thing(id: "th.1")], clock: clock)
        loopGuard.kill(.everything, for: .seconds(60))
        let payload = PayloadFixture.pushToApp(sender: "th.1").payload(.long)
        #expect(try loopGuard.judge(payload) == "identity")
    }
}
