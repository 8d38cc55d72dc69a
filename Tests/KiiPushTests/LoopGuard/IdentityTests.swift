import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct IdentityTests {
    let clock = ManualClock()

    @Test("drops events caused by any of the device's identities", arguments: ["th.1", "U-1"])
    func ownSender(id: String) throws {
        let loopGuard = LoopGuard(me: [.thing(id: "th.1"), .user(id: "U-1")], clock: clock)
        for fixture in [PayloadFixture.pushToApp(sender: id), .pushToUser(sender: id)] {
            for style in [PayloadFixture.KeyStyle.long, .strings] {
                #expect(try loopGuard.judge(fixture.payload(style)) == "identity")
            }
        }
    }

    @Test("the sender's URI identifies this device too")
    func senderURI() throws {
        let loopGuard = LoopGuard(me: [.thing(id: "sensor"), .admin("APP_ADMIN")], clock: clock)
        let uris = [
            "kiicloud://things/sensor": "identity", "kiicloud://0123abcd/things/sensor": "identity",
            "kiicloud://admins/APP_ADMIN": "identity", "kiicloud://users/sensor": "pass",
            "kiicloud://admins/sensor": "pass", "kiicloud://things/other": "pass",
        ]
        for (uri, verdict) in uris {
            var fixture = PayloadFixture.pushToApp(sender: nil)
            fixture.fields[.senderURI] = uri
            #expect(try loopGuard.judge(fixture.payload(.long)) == verdict, "\(uri)")
        }
    }

    @Test("an equal id of another type is somebody else")
    func otherKind() throws {
        let loopGuard = LoopGuard(me: [.user(id: "th.1"), .thing(id: "U-1")], clock: clock)
        #expect(try loopGuard.judge(PayloadFixture.pushToApp(sender: "th.1").payload(.long)) == "pass")
        #expect(try loopGuard.judge(PayloadFixture.pushToApp(sender: "U-1").payload(.long)) == "pass")
    }

    @Test("passes other senders, even if their ids share a prefix", arguments: ["U-2", "U-", "U-11", "u-1"])
    func otherSender(id: String) throws {
        let loopGuard = LoopGuard(me: [.user(id: "U-1")], clock: clock)
        #expect(try loopGuard.judge(PayloadFixture.pushToApp(sender: id).payload(.long)) == "pass")
    }

    @Test("passes a payload without a sender, such as an APNs Push to App")
    func noSender() throws {
        let loopGuard = LoopGuard(me: [.user(id: "U-1")], clock: clock)
        #expect(try loopGuard.judge(PayloadFixture.pushToApp(sender: "U-1").payload(.short)) == "pass")
        #expect(try loopGuard.judge(PayloadFixture.pushToApp(sender: nil).payload(.long)) == "pass")
        #expect(try loopGuard.judge(PayloadFixture.directPush(recipient: nil).payload(.long)) == "pass")
    }
}
