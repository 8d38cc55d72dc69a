import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// A clock that a test sets to any time, also back.
final class LooseClock: ReceiverClock {
    private let time: Mutex<MonotonicInstant>

    init(_ seconds: Int64) { time = Mutex(.seconds(seconds)) }

    var now: MonotonicInstant {
        get { time.withLock { $0 } }
        set { time.withLock { $0 = newValue } }
    }

    func sleep(until instant: MonotonicInstant) async throws { throw CancellationError() }
}

/// Clocks that do what no clock should.
struct GuardTimeTests {
    private static let year: Int64 = 31_557_600

    @Test(
        "with a clock that jumps no message is lost, and paced ones pass in the end",
        arguments: [
            [0, -1], [0, -100 * year], [0, 100 * year], [-140 * year, 140 * year, -140 * year], [100, 50, 101],
        ])
    func jumps(times: [Int64]) async {
        let clock = LooseClock(times[0])
        let loopGuard = LoopGuard(clock: clock)
        let handled = EventLog()
        let receiver = PushReceiver(clock: clock) {
            Deduplicator(clock: clock)
            loopGuard
        }
        receiver.onPushToUser(id: "r", topic: "news", options: RouteOptions(pace: .every(.seconds(1)))) { message, _ in
            handled.add("\(message.message.sentAt ?? -1)")
        }
        var waiting: [RawPayload] = []
        func receive(_ payloads: [RawPayload]) async {
            for payload in payloads {
                let outcome = await receiver.receive(payload)
                if case .paced = outcome { waiting.append(payload) }
                #expect(["handled", "paced"].contains(outcome.name))
            }
        }
        loopGuard.kill(.route("other"), for: .seconds(60))
        for (round, time) in times.enumerated() {
            clock.now = .seconds(time)
            await receive((0..<30).map { PayloadFixture.pushToUser(sentAt: Int64(round * 30 + $0)).payload(.long) })
        }
        // A clock that was set back by a century may let them wait for as long.
        clock.now = .seconds(times.max() ?? 0)
        for _ in 0..<60 where !waiting.isEmpty {
            clock.now = clock.now.advanced(by: .seconds(20))
            let again = waiting
            waiting = []
            await receive(again)
        }
        #expect(waiting.isEmpty && Set(handled.events).count == 30 * times.count)
        #expect(handled.events.count == 30 * times.count)
    }

    @Test(
        "a kill of a negative duration does nothing, one beyond the range of clocks never ends",
        arguments: [0, 250 * year])
    func kills(now: Int64) throws {
        let clock = LooseClock(now)
        let loopGuard = LoopGuard(clock: clock)
        let payload = PayloadFixture.pushToApp().payload(.long)
        for duration in [Duration.zero, .seconds(-1), .seconds(Int64.min)] {
            loopGuard.kill(.everything, for: duration)
            loopGuard.setKills([.everything: duration])
            #expect(loopGuard.killed.isEmpty)
            #expect(try loopGuard.judge(payload, at: clock.now) == "pass")
        }
        loopGuard.kill(.everything, for: .seconds(Int64.max))
        loopGuard.kill(.everything, for: .seconds(-1))
        #expect(loopGuard.killedUntil[.everything] == MonotonicInstant(nanoseconds: .max))
        clock.now = .seconds(291 * Self.year)
        #expect(try loopGuard.judge(payload, at: clock.now) == "killSwitch")
        // The file may be kept by somebody else: an empty list does not undo the call.
        loopGuard.setKills([:])
        #expect(loopGuard.killed == [.everything])
        loopGuard.revive(.everything)
        #expect(loopGuard.killed.isEmpty)
    }

    @Test("a list of kills replaces the last list; of a call and a list, the later end counts")
    func lists() throws {
        let clock = LooseClock(0)
        let loopGuard = LoopGuard(clock: clock)
        loopGuard.kill(.route("a"), for: .seconds(10))
        loopGuard.setKills([.route("a"): .seconds(5), .route("b"): .seconds(20)])
        #expect(loopGuard.killedUntil == [.route("a"): .seconds(10), .route("b"): .seconds(20)])
        loopGuard.setKills([.route("a"): .seconds(30)])
        #expect(loopGuard.killedUntil == [.route("a"): .seconds(30)])
        loopGuard.revive(.route("a"))
        #expect(loopGuard.killed.isEmpty)
    }

    @Test("a clock that was set back spends no budget of writes")
    func writes() {
        var budgets = WriteBudgets()
        for message in 1...20 as ClosedRange<UInt64> {
            #expect(budgets.spend("r", for: message, message == 1 ? 10_000 : 0) == nil)
        }
    }

    @Test(
        "with a clock that was set back, an announced write still drops its event later")
    func echo() throws {
        let clock = LooseClock(1000)
        let loopGuard = LoopGuard(clock: clock)
        let payload = PayloadFixture.pushToApp(sender: nil).payload(.long)
        _ = loopGuard.announce(EchoTests.object)
        _ = loopGuard.announce(EchoTests.object)
        clock.now = .seconds(0)
        // Handled once too often, which the other layers bound: better than to drop what somebody else wrote.
        #expect(try loopGuard.judge(payload, at: clock.now) == "pass")
        clock.now = .seconds(1059)
        #expect(try loopGuard.judge(payload, at: clock.now) == "echo")
        clock.now = .seconds(1060)
        #expect(try loopGuard.judge(payload, at: clock.now) == "pass")
    }
}
