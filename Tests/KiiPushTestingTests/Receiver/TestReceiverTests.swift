import KiiPush
import KiiPushRules
import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPushTestSupport

/// Sending to a receiver on a clock that only the test turns.
struct TestReceiverTests {
    private let clock = ManualClock()

    private func standard(_ pace: String = "standard") throws -> TestReceiver {
        let rules = try RoutingRules(
            #"""
            {"version":1,
             "rules":[{"id":"a","then":{"handler":"h"},"continue":true,"pace":"\#(pace)"},
                      {"id":"p","when":{"data":{"n":5}},"then":{"print":true}}]}
            """#)
        return try TestReceiver(rules: rules, clock: clock)
    }

    private func push(_ number: Int) -> RawPayload { RawPayload("{\"n\":\(number)}") }

    @Test("a receipt says the outcome, the routes, the handlers, and what the transport is told")
    func receipt() async throws {
        let test = try standard()
        let first = await test.send(push(5))
        #expect(first.outcome.name == "handled" && first.routes == ["a", "p"] && first.handlers == ["h", "p"])
        #expect(first.outcome.disposition == .accept && first.caused.isEmpty)
        #expect(first.trace.generation == 1 && first.trace.message?.kind == .directPush)
        let copy = await test.send(push(5))
        #expect(copy.outcome.description == "duplicate (done)" && copy.routes == ["a", "p"] && copy.handlers.isEmpty)
        #expect(copy.outcome.disposition == .accept)
        let failed = try await test.send(push(6), failing: ["h"])
        #expect(failed.outcome.description == "failed (a)" && failed.handlers == ["h"])
        #expect(failed.outcome.disposition == .retryLater)
        #expect(await test.send(push(6)).outcome.name == "handled")
        let broken = await test.send(RawPayload("{"))
        #expect(broken.outcome.name == "undecodable" && broken.routes.isEmpty && broken.trace.message == nil)
        #expect(broken.outcome.disposition == .reject)
    }

    @Test("a name of no stand-in fails the test, which would pass for the wrong reason, and so does another clock")
    func mistakes() async throws {
        let rules = try RoutingRules(#"{"version":1,"rules":[{"id":"a","then":{"handler":"ring"}}]}"#)
        let test = try TestReceiver(rules: rules)
        let misspelled = await #expect(throws: TestMistake.self) { try await test.send(push(1), failing: ["rnig"]) }
        #expect(misspelled?.description.contains("unknown stand-in 'rnig'; did you mean 'ring'?") == true)
        #expect(await test.send(push(1)).handlers == ["ring"])
        let clockless = #expect(throws: TestMistake.self) { try TestReceiver(PushReceiver()) }
        #expect(clockless?.description.contains("make the receiver with `clock: ManualClock()`") == true)
    }

    @Test("paced messages end when the clock reaches their time, and not before")
    func paced() async throws {
        let test = try standard("20s")
        for number in 101...120 { #expect(await test.send(push(number)).outcome.name == "handled") }
        let first = await test.send(push(1))
        #expect(first.outcome.name == "paced" && first.handlers.isEmpty && test.nextDue != nil)
        try await test.send(push(2), failing: ["h"])
        #expect(await test.advance(by: .seconds(19)).isEmpty)
        let rest = await test.advance(by: .seconds(40))
        #expect(rest.map(\.handlers) == [["h"], ["h"]])
        #expect(rest.map(\.outcome.description) == ["handled", "failed (a)"])
        #expect(rest.first?.first == first.trace.messageID && rest.first?.trace.messageID != first.trace.messageID)
        #expect(await test.advance(by: .seconds(10_000)).isEmpty && test.nextDue == nil)
    }

    @Test("after a jump of the clock messages are handled late")
    func jump() async throws {
        let ends = Mutex<[Int64]>([])
        for jumps in [false, true] {
            let clock = ManualClock()
            let receiver = PushReceiver(clock: clock) { LoopGuard(clock: clock) }
            receiver.onAny(options: RouteOptions(pace: .every(.seconds(8)))) { message, _ in
                guard message.data["n"]?.integer == 21 else { return }
                ends.withLock { $0.append(clock.now.nanoseconds / 1_000_000_000) }
            }
            let test = try TestReceiver(receiver)
            for number in 1...21 { await test.send(push(number)) }
            if jumps { clock.advance(by: .seconds(100)) }
            let receipts = await test.advance(by: jumps ? .zero : .seconds(100))
            #expect(receipts.count == 1 && clock.now.nanoseconds == 100_000_000_000)
        }
        let times = ends.withLock { $0 }
        #expect(times.count == 2 && times[0] < 20 && times[1] == 100)
    }

    @Test("a message that is delivered again, however soon, is not counted as another one that waits")
    func soon() async throws {
        let loopGuard = LoopGuard()
        let receiver = PushReceiver(clock: clock) { loopGuard }
        receiver.onAny(options: RouteOptions(pace: .every(.milliseconds(500)))) { _, _ in }
        let test = try TestReceiver(receiver)
        for number in 1...24 { await test.send(push(number)) }
        #expect(await test.advance(by: .seconds(10)).map(\.outcome.name) == Array(repeating: "handled", count: 4))
        #expect(loopGuard.paced.allSatisfy { $0.waiting == 0 }, "\(loopGuard.paced)")
    }

    /// Names a time that is over, four times of five.
    private final class Stale: Middleware {
        let asked = Atomic<Int>(0)

        func admit(_ message: inout RoutedMessage) -> Verdict {
            asked.add(1, ordering: .relaxed).newValue % 5 == 0 ? .pass : .later(until: .seconds(-5))
        }
    }

    @Test("a message that is to be delivered again at a time which is over comes after a millisecond")
    func staleTime() async throws {
        let receiver = PushReceiver(clock: clock) { Stale() }
        receiver.onAny { _, _ in }
        let test = try TestReceiver(receiver)
        #expect(await test.send(push(1)).outcome.name == "paced")
        #expect(await test.advance(by: .zero).isEmpty)
        #expect(await test.advance(by: .milliseconds(4)).map(\.outcome.name) == ["handled"])
    }

    @Test("what handlers send into the receiver belongs to the message that they were called for")
    func caused() async throws {
        let receiver = PushReceiver(clock: clock)
        receiver.onAny(id: "all") { [weak receiver] message, _ in
            let number = message.data["n"]?.integer ?? 0
            guard number < 3, let receiver else { return }
            // Also from a task of its own, as long as the handler waits for it.
            let task = Task { await receiver.receive(RawPayload("{\"n\":\(number + 1)}")) }
            _ = await task.value
        }
        let test = try TestReceiver(receiver)
        let receipt = await test.send(push(1))
        #expect(receipt.trace.message?.data["n"]?.integer == 1 && receipt.trace.messageID == 1)
        #expect(receipt.caused.map { $0.trace.message?.data["n"]?.integer } == [3, 2])
        #expect(await test.send(push(4)).caused.isEmpty)
    }

    @Test("what a handler sends into another receiver under test does not belong to the message")
    func another() async throws {
        let other = PushReceiver(clock: clock)
        other.onAny(id: "other") { _, _ in }
        let receiver = PushReceiver(clock: clock)
        receiver.onAny(id: "bridge") { [other] message, _ in _ = await other.receive(message.raw) }
        _ = try TestReceiver(other)
        // Wrapped twice, as by a function that sends one payload.
        _ = try TestReceiver(receiver)
        let receipt = await (try TestReceiver(receiver)).send(push(1))
        #expect(receipt.routes == ["bridge"] && receipt.caused.isEmpty)
    }

    @Test("each of many concurrent sends gets its own receipt")
    func concurrent() async throws {
        let test = try standard("unlimited")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 10..<200 {
                group.addTask { [test] in
                    let isToFail = number % 3 == 0
                    let receipt = try await test.send(push(number), failing: isToFail ? ["h"] : [])
                    #expect(receipt.trace.message?.data["n"]?.integer == Int64(number) && receipt.caused.isEmpty)
                    #expect(receipt.outcome.name == (isToFail ? "failed" : "handled"))
                }
            }
            try await group.waitForAll()
        }
    }

    @Test("listeners added before or after are called too, also for handlers that fail")
    func wrapped() async throws {
        let receiver = PushReceiver(clock: clock)
        let log = TraceLog()
        receiver.onTrace { log.add($0) }
        let fails = Mutex(true)
        receiver.onPushToApp(id: "settings", bucket: "settings") { _, _ in
            if fails.withLock({ $0 }) { throw TestError() }
        }
        let test = try TestReceiver(receiver)
        let after = TraceLog()
        receiver.onTrace { after.add($0) }
        let failed = await test.send(PayloadFixture.pushToApp())
        #expect(failed.outcome.description == "failed (settings)" && failed.handlers == ["settings"])
        fails.withLock { $0 = false }
        #expect(await test.send(PayloadFixture.pushToApp()).outcome.name == "handled")
        #expect(log.traces.map(\.outcome.name) == ["failed", "handled"])
        #expect(after.traces.map(\.outcome.name) == ["failed", "handled"])
    }
}
