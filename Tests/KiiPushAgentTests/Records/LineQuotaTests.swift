import KiiPush
import KiiPushDelivery
import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPushAgent

/// What is left out of a log, and that somebody can see that.
struct LineQuotaTests {
    @Test("of each kind and route so many lines a minute are written, then one that counts the others")
    func counts() {
        let clock = ManualClock()
        let quota = LineQuota(lines: 3, clock: clock)
        let key = LineQuota.Key(kind: "handled", route: "a\u{1B}b")
        func written() -> Int { (0..<5).count { _ in quota.takes(key, .warning) } }
        #expect(written() == 3)
        #expect(quota.takes(LineQuota.Key(kind: "handled", route: "b"), .information))
        #expect(quota.takes(LineQuota.Key(kind: "failed", route: key.route), .information))
        clock.advance(by: .seconds(59))
        #expect(quota.leftOut().isEmpty, "its minute is not over")
        clock.advance(by: .seconds(1))
        #expect(quota.leftOut().map(\.description) == ["<4>left out 2 lines within 60 s: handled; a\\u001bb"])
        #expect(quota.leftOut().isEmpty)
        #expect(written() == 3)
        #expect(quota.leftOut(all: true).count == 1, "at the end, all are counted")
    }

    @Test("the line of an outcome is counted for its first route")
    func outcomes() async {
        let keys = Mutex<[LineQuota.Key]>([])
        let receiver = PushReceiver(app: "0123abcd", clock: ManualClock())
        receiver.onPushToApp("app") { _, _ in }
        receiver.onTrace { trace in keys.withLock { $0.append(LineQuota.Key(trace)) } }
        _ = await receiver.receive(PayloadFixture.pushToApp().payload(.long))
        _ = await receiver.receive(PayloadFixture.pushToUser().payload(.long))
        #expect(
            keys.withLock { $0 } == [LineQuota.Key(kind: "handled", route: "app"), LineQuota.Key(kind: "unrouted")])
    }

    @Test("each event of a service is of one kind, with the route or the transport that it names")
    func events() {
        let cases: [(ServiceEvent, String, String)] = [
            (.retry(messageID: 1, route: "r", attempt: 1, pause: .zero, cause: "E"), "retry", "r"),
            (.overrun(messageID: 1, route: "r", isLeft: false), "overrun", "r"),
            (.overrun(messageID: 1, route: "r", isLeft: true), "handler left", "r"),
            (.storeFailed("x"), "store failed", ""), (.notDurable("x"), "not durable", ""),
            (.transport("t", .connected("x")), "connected", "t"),
            (.transport("t", .disconnected("x", retryIn: .zero)), "disconnected", "t"),
            (.transport("t", .refused("x", retryIn: .zero)), "refused", "t"),
            (.transport("t", .possibleGap("x")), "messages may be lost", "t"),
            (.transport("t", .ignored("x")), "ignored", "t"),
        ]
        for (event, kind, route) in cases {
            let key = LineQuota.Key(event)
            #expect(key.kind == kind && key.route == route)
        }
    }
}
