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
        await goOn(receiver, seconds: 60, every: step)
        #expect(receiver.held.isEmpty)
        #expect(receiver.metrics.count("handled") == Int(lastTime))
    }

    @Test("a try that brings what did not come before closes nothing, and the key waits")
    mutating func loop() async {
        let receiver = receiver()
        await receive(receiver, times: 21)
        var tried = 0
        for _ in 0..<600 {
            clock.advance(by: .milliseconds(500))
            let outcomes = await receiver.handleDue()
            tried += outcomes.count
            clock.advance(by: .milliseconds(100))
            await receive(receiver, times: outcomes.count)
        }
        #expect(tried <= 16, "each message brings the next")
        #expect(receiver.held.count == 1)
    }

    @Test("what a transport delivers again says nothing of what comes anyway", arguments: [true, false])
    mutating func redelivered(isRedelivered: Bool) async throws {
        let receiver = receiver()
        await receive(receiver, times: 21)
        // Ten in the quiet: as many as were asked for again by the transport, or a stream.
        for _ in 0..<10 {
            clock.advance(by: .milliseconds(400))
            await receive(receiver, redelivered: isRedelivered)
        }
        clock.advance(by: .milliseconds(500))
        // Against a stream more must be tried at once than against silence.
        let tried = await receiver.handleDue().count
        #expect(isRedelivered ? tried == 1 : tried > 5)
    }

    @Test("a thousand new objects at once are handled within half a minute")
    mutating func manyObjects() async {
        let receiver = receiver()
        for number in 0..<1000 {
            let fixture = PayloadFixture.pushToApp(object: "o\(number)", sentAt: Int64(number))
            _ = await receiver.receive(fixture.payload(.long))
        }
        #expect(receiver.metrics.count("handled") == 200)
        for _ in 0..<60 {
            clock.advance(by: .milliseconds(500))
            await receiver.handleDue()
        }
        #expect(receiver.metrics.count("handled") == 1000)
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
        clock.advance(by: .seconds(5))
        var turns: [UInt64] = []
        while let next = await receiver.handleNextDue({ turns.append($0.id) }) { #expect(next.outcome != nil) }
        #expect(turns == expected && turns.count == 4)
    }
}
