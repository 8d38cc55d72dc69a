import KiiPushTesting
import Testing

@testable import KiiPush

struct IdentityTests {
    let clock = ManualClock()

    private func admit(_ payload: RawPayload, _ loopGuard: LoopGuard, app: String? = nil) throws -> Verdict {
        var payload = payload
        payload.arrivedAt = clock.now
        var message = try RoutedMessage(payload, app: app)
        return loopGuard.admit(&message)
    }

    @Test("what this device caused itself is dropped, whoever of its identities did", arguments: ["th.1", "U-1"])
    func ownSender(id: String) throws {
        let loopGuard = LoopGuard(me: [.thing(id: "th.1"), .user(id: "U-1")], clock: clock)
        for fixture in [PayloadFixture.pushToApp(sender: id), .pushToUser(sender: id)] {
            for style in [PayloadFixture.KeyStyle.long, .strings] {
                #expect(try admit(fixture.payload(style), loopGuard) == .drop(.looped(.identity)))
            }
        }
    }

    @Test("the sender's URI says it too, and says it in clear")
    func senderURI() throws {
        let loopGuard = LoopGuard(me: [.thing(id: "sensor"), .admin("APP_ADMIN")], clock: clock)
        let uris = [
            "kiicloud://things/sensor": Verdict.drop(.looped(.identity)),
            "kiicloud://0123abcd/things/sensor": .drop(.looped(.identity)),
            "kiicloud://admins/APP_ADMIN": .drop(.looped(.identity)),
            "kiicloud://users/sensor": .pass, "kiicloud://admins/sensor": .pass, "kiicloud://things/other": .pass,
        ]
        for (uri, verdict) in uris {
            var fixture = PayloadFixture.pushToApp(sender: nil)
            fixture.fields[.senderURI] = uri
            #expect(try admit(fixture.payload(.long), loopGuard) == verdict, "\(uri)")
        }
    }

    @Test("a user with my thing's id, and a thing with my user's id, are somebody else")
    func otherKind() throws {
        let loopGuard = LoopGuard(me: [.user(id: "th.1"), .thing(id: "U-1")], clock: clock)
        #expect(try admit(PayloadFixture.pushToApp(sender: "th.1").payload(.long), loopGuard) == .pass)
        #expect(try admit(PayloadFixture.pushToApp(sender: "U-1").payload(.long), loopGuard) == .pass)
    }

    @Test("another sender passes, also one whose id begins like mine", arguments: ["U-2", "U-", "U-11", "u-1"])
    func otherSender(id: String) throws {
        let loopGuard = LoopGuard(me: [.user(id: "U-1")], clock: clock)
        #expect(try admit(PayloadFixture.pushToApp(sender: id).payload(.long), loopGuard) == .pass)
    }

    @Test("a payload that names no sender passes, as every APNs Push to App does")
    func noSender() throws {
        let loopGuard = LoopGuard(me: [.user(id: "U-1")], clock: clock)
        #expect(try admit(PayloadFixture.pushToApp(sender: "U-1").payload(.short), loopGuard) == .pass)
        #expect(try admit(PayloadFixture.pushToApp(sender: nil).payload(.long), loopGuard) == .pass)
        #expect(try admit(PayloadFixture.directPush(recipient: nil).payload(.long), loopGuard) == .pass)
    }

    @Test("a guard that is nobody drops nothing")
    func nobody() throws {
        for (_, _, _, _, payload) in PayloadFixture.matrix { #expect(try admit(payload, LoopGuard()) == .pass) }
    }
}
