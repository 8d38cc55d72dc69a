import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushRules
@testable import KiiPushTestSupport

/// A message of several routes that failed for some of them, when its transport delivers it again.
struct HandledRoutesTests {
    private let clock = ManualClock()
    private let log = EventLog()
    private let receiver: PushReceiver
    private let isBroken = Flag()

    init() {
        let clock = clock
        receiver = PushReceiver(clock: clock) { Deduplicator() }
        let (log, isBroken) = (log, isBroken)
        for id in ["a", "b", "c"] {
            receiver.onAny(id: id, options: .continue) { message, _ in
                log.add("\(id) \(message.sentAt ?? 0)")
                if id == "b", isBroken.isSet { throw TestError() }
            }
        }
        isBroken.set()
    }

    private func send(_ number: Int64, style: PayloadFixture.KeyStyle = .long) async -> String {
        let outcome = await receiver.receive(PayloadFixture.pushToApp(sentAt: number, modifiedAt: nil).payload(style))
        if case .failed(let failure) = outcome { return "failed \(failure.handled.ids)" }
        return "\(outcome)"
    }

    @Test("only failed handlers run again until the message has ended, and all of them after its window")
    func again() async {
        #expect(await send(1) == #"failed ["a", "c"]"#)
        #expect(await send(1, style: .short) == "failed []", "over another transport too")
        isBroken.clear()
        #expect(await send(1) == "handled")
        #expect(log.events == ["a 1", "b 1", "c 1", "b 1", "b 1"])
        #expect(await send(1) == "duplicate (done)")
        #expect(await send(2) == "handled")
        #expect(log.events.suffix(3) == ["a 2", "b 2", "c 2"], "another message has all its routes")
        clock.advance(by: .seconds(601))
        #expect(await send(1) == "handled")
        #expect(log.events.suffix(3) == ["a 1", "b 1", "c 1"], "the window is over")
    }

    @Test("a message with a weak key runs its handlers again after the weak window")
    func weak() async {
        func send() async -> Int {
            let before = log.events.count
            _ = await receiver.receive(PayloadFixture.directPush().payload(.long))
            return log.events.count - before
        }
        #expect(await send() == 3)
        clock.advance(by: .seconds(4))
        #expect(await send() == 1)
        clock.advance(by: .seconds(1))
        #expect(await send() == 3, "it may be another message that reads the same")
    }

    @Test("a message whose failed route is gone ends as a duplicate")
    func rulesChanged() async throws {
        func rules(_ ids: [String]) throws -> RoutingRules {
            let list = ids.map { #"{"id":"\#($0)","then":{"handler":"\#($0)"},"continue":true}"# }
            return try RoutingRules("{\"version\":1,\"rules\":[\(list.joined(separator: ","))]}")
        }
        let receiver = PushReceiver(rules: try rules([]), clock: clock)
        receiver.register("works") { [log] _, _ in log.add("works") }
        receiver.register("fails") { _, _ in throw TestError() }
        try receiver.load(try rules(["works", "fails"]))
        let payload = PayloadFixture.pushToApp().payload(.long)
        #expect(await "\(receiver.receive(payload))" == "failed (fails)")
        try receiver.load(try rules(["works"]))
        #expect(await "\(receiver.receive(payload))" == "duplicate (done)")
        #expect(log.events == ["works"])
    }

    @Test("remembers 256 partly handled messages; the oldest run all handlers again")
    func bound() async {
        #expect(Deduplicator.mostPartlyHandled == 256)
        for number in 1...257 { _ = await send(Int64(number)) }
        let before = log.events.count
        #expect(await send(257) == "failed []")
        #expect(await send(2) == "failed []")
        #expect(log.events.count == before + 2)
        #expect(await send(1) == #"failed ["a", "c"]"#)
    }

    @Test("a failing middleware in between changes nothing")
    func middlewareFails() async {
        let (log, isClosed) = (log, Flag())
        let receiver = PushReceiver(clock: clock) {
            Deduplicator()
            Probe("probe", EventLog()) {
                if isClosed.isSet { throw TestError() }
                return .pass
            }
        }
        receiver.onAny(id: "a", options: .continue) { _, _ in log.add("a") }
        receiver.onAny(id: "b") { _, _ in throw TestError() }
        let payload = PayloadFixture.pushToApp().payload(.long)
        _ = await receiver.receive(payload)
        isClosed.set()
        #expect(await "\(receiver.receive(payload))" == "failed (probe)")
        isClosed.clear()
        #expect(await "\(receiver.receive(payload))" == "failed (b)")
        #expect(log.events == ["a"])
    }
}
