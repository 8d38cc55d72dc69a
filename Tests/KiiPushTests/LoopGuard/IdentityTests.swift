import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct IdentityTests {
    private let loopGuard = LoopGuard(
        me: [
            .thing(id: "th.1"), .user(id: "U-1"), .user(id: "th.2"), .thing(id: "U-2"), .thing(id: "sensor"),
            .admin("ROBOT"),
        ], clock: ManualClock())

    private static let mine = KiiScope.user(KiiUser(id: "U-1"))

    @Test(
        "drops what one of the device's identities has sent",
        arguments: [
            .pushToApp(sender: "th.1"), .pushToApp(sender: "U-1"), .pushToUser(sender: "th.1"),
            .pushToUser(scope: mine, sender: "U-1"), .pushToApp(scope: .group(KiiGroup(id: "G-1")), sender: "U-1"),
        ] as [PayloadFixture])
    func own(fixture: PayloadFixture) throws {
        for style in [PayloadFixture.KeyStyle.long, .strings] {
            #expect(try loopGuard.judge(fixture.payload(style)) == "identity")
        }
        // Over APNs a Push to App does not say who sent it.
        let isNamed = fixture.fields[.bucketID] == nil
        #expect(try loopGuard.judge(fixture.payload(.short)) == (isNamed ? "identity" : "pass"))
    }

    @Test(
        "passes what somebody else has sent, whose id may be like an own one, and what names no sender",
        arguments: [
            .pushToApp(sender: "U-3"), .pushToApp(sender: "U-"), .pushToApp(sender: "U-11"), .pushToApp(sender: "u-1"),
            .pushToApp(sender: "th.2"), .pushToApp(sender: "U-2"), .pushToApp(scope: mine, sender: "U-3"),
            .pushToApp(sender: nil), .directPush(recipient: "U-1"), .directPush(recipient: nil),
        ] as [PayloadFixture])
    func foreign(fixture: PayloadFixture) throws {
        for style in PayloadFixture.KeyStyle.allCases {
            #expect(try loopGuard.judge(fixture.payload(style)) == "pass")
        }
    }

    @Test(
        "the sender's URI names this device too",
        arguments: [
            ("things/sensor", true), ("0123abcd/things/sensor", true), ("admins/ROBOT", true), ("users/sensor", false),
            ("admins/sensor", false), ("things/other", false),
        ])
    func uri(path: String, isOwn: Bool) throws {
        var fixture = PayloadFixture.pushToApp(sender: nil)
        fixture.fields[.senderURI] = "kiicloud://\(path)"
        #expect(try loopGuard.judge(fixture.payload(.long)) == (isOwn ? "identity" : "pass"))
    }
}
