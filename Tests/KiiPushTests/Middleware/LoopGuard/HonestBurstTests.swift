import KiiPushTesting
import Testing

@testable import KiiPush

/// Objects that change often without a loop, and are held once.
@Suite("Honest bursts")
struct HonestBurstTests {
    private let clock = ManualClock()
    private var lastTime: Int64 = 0

    private func receiver() -> PushReceiver {
        let receiver = PushReceiver(clock: clock)
        receiver.onPushToApp("object", bucket: "settings") { _, _ in }
        return receiver
    }

    private mutating func receive(_ receiver: PushReceiver, times: Int = 1, redelivered: Bool = false) async {
        for _ in 0..<times {
            lastTime += 1
            var payload = PayloadFixture.pushToApp(sentAt: lastTime, modifiedAt: lastTime).payload(.long)
            payload.isRedelivered = redelivered
            _ = await receiver.receive(payload)
        }
    }

    /// Receives so many messages each time, every second, and lets the held ones have their turns.
    private mutating func goOn(_ receiver: PushReceiver, seconds: Int, every step: Int, redelivered: Bool = false) async
    {
        for second in 1...seconds {
            clock.advance(by: .seconds(1))
            if second % step == 0 { await receive(receiver, redelivered: redelivered) }
            await receiver.handleDue()
        }
    }

    @Test("an object that changes each second is handled again after a burst", arguments: [1, 2, 3])
    mutating func recovers(step: Int) async {
        let receiver = receiver()
        await receive(receiver, times: 25)
        #expect(receiver.held.count == 5)
        await goOn(receiver, seconds: 75, every: step)
        #expect(receiver.held.isEmpty)
        await goOn(receiver, seconds: 60, every: step)
        #expect(receiver.metrics.count("handled") == Int(lastTime))
    }

    @Test("a probe that brings what did not come before opens the breaker again")
    mutating func loop() async {
        let receiver = receiver()
        await receive(receiver, times: 21)
        clock.advance(by: .seconds(60))
        await receiver.handleDue()
        clock.advance(by: .seconds(1))
        await receive(receiver)
        clock.advance(by: .seconds(60))
        #expect(await receiver.handleDue().isEmpty, "the cool-down is two minutes now")
        clock.advance(by: .seconds(60))
        #expect(await receiver.handleDue().count == 1)
    }

    @Test("a storm from outside that goes on is more than comes anyway only when it is over twice as much")
    mutating func twice() async {
        let receiver = receiver()
        await receive(receiver, times: 21)
        await goOn(receiver, seconds: 60, every: 5)
        // Six came in the half minute of the middle: two in ten seconds, so up to four may come.
        await receive(receiver, times: 3)
        clock.advance(by: .seconds(5))
        #expect(receiver.loopGuard?.nextDue == MonotonicInstant(nanoseconds: 70_000_000_000))
        await receive(receiver, times: 2)
        #expect(receiver.loopGuard?.nextDue == MonotonicInstant(nanoseconds: 185_000_000_000))
    }

    @Test("what a transport delivers again is no sign of honest traffic, and none of a loop")
    mutating func redelivered() async {
        let receiver = receiver()
        await receive(receiver, times: 21)
        await goOn(receiver, seconds: 60, every: 1, redelivered: true)
        clock.advance(by: .seconds(5))
        await receive(receiver, redelivered: true)
        #expect(receiver.loopGuard?.nextDue == MonotonicInstant(nanoseconds: 70_000_000_000))
        await receive(receiver)
        #expect(receiver.loopGuard?.nextDue == MonotonicInstant(nanoseconds: 185_000_000_000))
    }

    @Test("the turns of several keys come in one order, the same in each process")
    mutating func order() async {
        let receiver = receiver()
        for object in ["a", "b", "c", "d"] {
            for number in 0..<21 {
                let fixture = PayloadFixture.pushToApp(object: object, sentAt: Int64(number), modifiedAt: Int64(number))
                _ = await receiver.receive(fixture.payload(.long))
            }
        }
        let expected = receiver.held.map(\.id)
        clock.advance(by: .seconds(60))
        var turns: [UInt64] = []
        while let next = await receiver.handleNextDue({ turns.append($0.id) }) { #expect(next.outcome != nil) }
        #expect(turns == expected && turns.count == 4)
    }
}
