import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushAgent

struct SilenceWatchTests {
    private let clock = ManualClock()

    /// A receiver that tells a watch of its messages.
    private func receiver(_ silence: SilenceWatch) -> PushReceiver {
        let receiver = PushReceiver(clock: clock)
        receiver.onPushToUser("news", topic: "news") { _, _ in }
        receiver.onPushToApp("settings") { _, _ in }
        receiver.onTrace { silence.saw($0) }
        return receiver
    }

    @Test("reports a silence once when it is too long, and once when it ends")
    func told() async {
        let silence = SilenceWatch(
            [.init(length: .seconds(10)), .init(route: "news", length: .seconds(60))], clock: clock)
        let receiver = receiver(silence)
        var changes: [String] = []
        func look(after seconds: Int) {
            clock.advance(by: .seconds(seconds))
            changes += silence.look().map(\.description)
        }
        look(after: 9)
        #expect(changes.isEmpty && silence.states == ["": false, "news": false])
        look(after: 3)
        look(after: 1)
        #expect(changes == ["silent: nothing came for 12s"])
        #expect(silence.silent.map(\.route) == [""])
        _ = await receiver.receive(PayloadFixture.pushToApp().payload(.long))
        look(after: 1)
        #expect(changes.last == "no longer silent: nothing had come for 13s")
        look(after: 50)
        #expect(changes.suffix(2) == ["silent: nothing came for 51s", "silent: nothing for route news came for 64s"])
        #expect(silence.states == ["": true, "news": true])
        _ = await receiver.receive(PayloadFixture.pushToUser(topic: "news").payload(.long))
        look(after: 0)
        #expect(changes.count == 6 && silence.states == ["": false, "news": false])
    }

    @Test("undecodable messages and duplicates end a silence")
    func signs() async {
        let silence = SilenceWatch([.init(length: .seconds(10))], clock: clock)
        let receiver = receiver(silence)
        for payload in [
            PayloadFixture.pushToApp().payload(.long), PayloadFixture.pushToApp().payload(.long), RawPayload("x"),
        ] {
            clock.advance(by: .seconds(9))
            _ = await receiver.receive(payload)
            let changes = silence.look()
            #expect(changes.isEmpty)
        }
        let none = SilenceWatch([], clock: clock)
        await none.run { _ in }
        #expect(none.states.isEmpty)
    }
}
