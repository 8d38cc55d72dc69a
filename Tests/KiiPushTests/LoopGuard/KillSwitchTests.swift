import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct KillSwitchTests {
    let clock = ManualClock()

    private func admit(_ payload: RawPayload, _ loopGuard: LoopGuard, app: String? = nil) throws -> Verdict {
        var payload = payload
        payload.arrivedAt = clock.now
        var message = try RoutedMessage(payload, app: app)
        return loopGuard.admit(&message)
    }

    @Test("killing everything drops every message, whether or not a route takes it, until it is revived")
    func killEverything() throws {
        let loopGuard = LoopGuard(clock: clock)
        loopGuard.kill(.everything, for: .seconds(60))
        for (name, _, _, _, payload) in PayloadFixture.matrix {
            #expect(try admit(payload, loopGuard) == .drop(.looped(.killSwitch)), "\(name)")
        }
        loopGuard.revive(.everything)
        for (_, _, _, _, payload) in PayloadFixture.matrix { #expect(try admit(payload, loopGuard) == .pass) }
    }

    @Test("a kill ends by itself, at its end and not before")
    func end() throws {
        let loopGuard = LoopGuard(clock: clock)
        let payload = PayloadFixture.pushToApp().payload(.long)
        loopGuard.kill(.everything, for: .seconds(60))
        clock.advance(by: .milliseconds(59_999))
        #expect(loopGuard.killed == [.everything])
        #expect(try admit(payload, loopGuard) == .drop(.looped(.killSwitch)))
        clock.advance(by: .milliseconds(1))
        #expect(loopGuard.killed.isEmpty)
        #expect(try admit(payload, loopGuard) == .pass)
        #expect(try admit(payload, loopGuard) == .pass)
    }

    @Test("of two kills of one target the one that ends last counts, whichever came first", arguments: [true, false])
    func killedTwice(isLongFirst: Bool) throws {
        let loopGuard = LoopGuard(clock: clock)
        for seconds in isLongFirst ? [60, 10] : [10, 60] { loopGuard.kill(.everything, for: .seconds(seconds)) }
        clock.advance(by: .seconds(59))
        #expect(loopGuard.killed == [.everything])
        clock.advance(by: .seconds(1))
        #expect(loopGuard.killed.isEmpty)
    }

    @Test("a kill after the end of an earlier one counts from now")
    func killedAgain() throws {
        let loopGuard = LoopGuard(clock: clock)
        let payload = PayloadFixture.pushToApp().payload(.long)
        loopGuard.kill(.everything, for: .seconds(10))
        clock.advance(by: .seconds(20))
        #expect(try admit(payload, loopGuard) == .pass)
        loopGuard.kill(.everything, for: .seconds(10))
        #expect(try admit(payload, loopGuard) == .drop(.looped(.killSwitch)))
    }

    @Test("a kill without end never ends")
    func endless() throws {
        let loopGuard = LoopGuard(clock: clock)
        clock.advance(by: .seconds(1000))
        loopGuard.kill(.everything, for: .seconds(Int64.max))
        clock.advance(by: .seconds(1_000_000_000))
        #expect(loopGuard.killed == [.everything])
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
        #expect(try admit(PayloadFixture.pushToApp().payload(.long), loopGuard) == .drop(.looped(.killSwitch)))
    }

    @Test("killing a bucket drops the messages about it, over every transport, and no others")
    func killBucket() throws {
        let loopGuard = LoopGuard(clock: clock)
        loopGuard.kill(try #require(KillTarget("kiicloud://users/U-1/buckets/settings")), for: .seconds(60))
        let mine = KiiScope.user(KiiUser(id: "U-1"))
        for style in PayloadFixture.KeyStyle.allCases {
            let verdict = try admit(PayloadFixture.pushToApp(scope: mine).payload(style), loopGuard)
            #expect(verdict == .drop(.looped(.killSwitch)))
        }
        let others: [PayloadFixture] = [
            .pushToApp(), .pushToApp(bucket: "other", scope: mine), .pushToApp(scope: .user(KiiUser(id: "U-2"))),
            .pushToApp(scope: .group(KiiGroup(id: "U-1"))), .pushToUser(topic: "settings", scope: mine), .directPush(),
        ]
        for fixture in others { #expect(try admit(fixture.payload(.long), loopGuard) == .pass) }
    }

    @Test("a bucket's URI may name its app, which must then be the message's")
    func killBucketOfApp() throws {
        let loopGuard = LoopGuard(clock: clock)
        loopGuard.kill(try #require(KillTarget("kiicloud://0123abcd/buckets/settings")), for: .seconds(60))
        let killed = Verdict.drop(.looped(.killSwitch))
        #expect(try admit(PayloadFixture.pushToApp().payload(.long), loopGuard) == killed)
        #expect(try admit(PayloadFixture.pushToApp(app: "ffff0000").payload(.long), loopGuard) == .pass)
        // A payload that names no app is the receiver's.
        var nameless = PayloadFixture.pushToApp()
        nameless.fields[.appID] = nil
        nameless.fields[.scopeAppID] = nil
        #expect(try admit(nameless.payload(.long), loopGuard, app: "0123abcd") == killed)
        #expect(try admit(nameless.payload(.long), loopGuard, app: "ffff0000") == .pass)
    }

    @Test("an encrypted bucket is another one than the plain one of the same name")
    func killEncrypted() throws {
        let loopGuard = LoopGuard(clock: clock)
        loopGuard.kill(try #require(KillTarget("kiicloud://buckets/CRYPTO:settings")), for: .seconds(60))
        var encrypted = PayloadFixture.pushToApp()
        encrypted.fields[.bucketType] = "crypto"
        #expect(try admit(encrypted.payload(.long), loopGuard) == .drop(.looped(.killSwitch)))
        #expect(try admit(PayloadFixture.pushToApp().payload(.long), loopGuard) == .pass)
    }

    @Test("killing a route leaves the message's other routes")
    func killRoute() throws {
        let loopGuard = LoopGuard(clock: clock)
        loopGuard.kill(.route("b"), for: .seconds(60))
        let routes = ["a", "b", "c"].map { Route($0, flow: .continue) }
        var message = try RoutedMessage(PayloadFixture.pushToApp().payload(.long), routes: routes)
        #expect(loopGuard.admit(&message) == .pass)
        #expect(message.routes.ids == ["a", "c"])
        #expect(message.stopped == .looped(.killSwitch))

        loopGuard.revive(.route("b"))
        message = try RoutedMessage(PayloadFixture.pushToApp().payload(.long), routes: routes)
        #expect(loopGuard.admit(&message) == .pass)
        #expect(message.routes.ids == ["a", "b", "c"])
    }

    @Test("an own message ends as identity even while everything is killed")
    func identityFirst() throws {
        let loopGuard = LoopGuard(me: [.thing(id: "th.1")], clock: clock)
        loopGuard.kill(.everything, for: .seconds(60))
        let payload = PayloadFixture.pushToApp(sender: "th.1").payload(.long)
        #expect(try admit(payload, loopGuard) == .drop(.looped(.identity)))
    }
}
