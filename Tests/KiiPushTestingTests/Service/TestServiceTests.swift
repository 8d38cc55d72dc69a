import KiiPush
import KiiPushDelivery
import KiiPushTesting
import Testing

@testable import KiiPushTestSupport

/// A service on a clock that only the test advances.
struct TestServiceTests {
    private let clock = ManualClock()
    private let letters = InMemoryDeadLetterStore()
    private let log = EventLog()

    private func receiver() -> PushReceiver {
        PushReceiver(app: "0123abcd", clock: clock, deadLetters: letters) {
            Deduplicator()
            LoopGuard()
        }
    }

    private func news(_ number: Int) -> RawPayload {
        PayloadFixture.pushToUser(topic: "news", sentAt: Int64(number)).payload(.long)
    }

    @Test("a handler that fails runs again when its pause is over")
    func retry() throws {
        let receiver = receiver()
        receiver.onPushToUser(topic: "news") { _, context in if context.attempt == 1 { throw TestError() } }

        let test = try TestService(receiver)
        let receipt = try test.send(PayloadFixture.pushToUser(topic: "news").payload(.long))
        #expect(receipt.outcome == nil)
        test.advance(by: .milliseconds(200))
        #expect(receipt.outcome?.name == "handled")
    }

    @Test("a service with nothing to do waits for no time, so an operation that waits for something else is an error")
    func waitsForNothing() throws {
        let test = try TestService(receiver())
        #expect(clock.nextWake == nil)
        let gate = Gate()
        let mistake = #expect(throws: TestMistake.self) { try test.run { await gate.wait() } }
        #expect(mistake?.description.hasPrefix("the operation waits for something else than time") == true)
        gate.open()
        try test.stop()
        #expect(throws: TestMistake.self) { try TestService(PushReceiver()) }
    }

    @Test("after the last attempt it is a dead letter, which a replay handles")
    func replay() throws {
        let (receiver, isMended) = (receiver(), Flag())
        receiver.onPushToUser(topic: "news") { _, _ in if !isMended.isSet { throw TestError() } }
        let test = try TestService(receiver)
        let receipt = try test.send(news(1))
        test.advance(by: .seconds(60))
        #expect(receipt.outcome?.name == "deadLettered")
        isMended.set()
        let letter = try #require(letters.letters().first)
        #expect(try test.run { await test.service.replay(letter) }.name == "handled")
    }

    @Test("a handler that sleeps on the clock is cancelled after its timeout")
    func timeout() throws {
        let (receiver, clock) = (receiver(), clock)
        receiver.onPushToUser(topic: "news") { _, _ in try await clock.sleep(until: .seconds(1000)) }
        var delivery = DeliverySettings()
        (delivery.attempts, delivery.timeout) = (1, .seconds(5))
        let test = try TestService(receiver, delivery: delivery)
        let receipt = try test.send(news(1))
        test.advance(by: .milliseconds(4999))
        #expect(test.service.status.handling == 1)
        test.advance(by: .milliseconds(1))
        #expect(receipt.outcome?.name == "deadLettered" && clock.now == .seconds(5))
    }

    @Test("a seed chooses the order of handlers that go on at the same moment, and the same seed the same order")
    func order() throws {
        func order(_ seed: UInt64) throws -> [String] {
            let (clock, log) = (ManualClock(), EventLog())
            let receiver = PushReceiver(clock: clock)
            receiver.onPushToApp(bucket: "b") { event, _ in
                try await clock.sleep(until: .seconds(1))
                log.add(event.object?.id ?? "")
            }
            let test = try TestService(receiver, seed: seed)
            for id in ["x", "y", "z"] {
                try test.send(PayloadFixture.pushToApp(bucket: "b", object: id).payload(.long))
            }
            test.advance(by: .seconds(1))
            return log.events
        }
        let orders = try (0..<20).map { try order($0) }
        #expect(try orders == (0..<20).map { try order($0) })
        #expect(Set(orders).count > 1 && orders.allSatisfy { $0.sorted() == ["x", "y", "z"] })
    }

    @Test("a service that is stopped reports what is left, which the next one on the same inbox handles")
    func restart() throws {
        let inbox = SpyInbox()
        func serve(_ fails: Bool) throws -> (TestService, EventLog) {
            let (clock, log) = (ManualClock(), EventLog())
            let receiver = PushReceiver(clock: clock)
            receiver.onPushToUser(topic: "news") { _, _ in
                if fails { throw TestError() }
                log.add("handled")
            }
            return (try TestService(receiver, inbox: inbox), log)
        }
        let (first, _) = try serve(true)
        try first.send(news(1))
        #expect(try first.stop() == DrainReport(finished: 0, left: 1))
        #expect(throws: IntakeRefusal.self) { try first.send(news(2)) }
        let (_, log) = try serve(false)
        #expect(log.events == ["handled"])
    }

    @Test("a handler's answer gets to its sender, and again a second later if that fails")
    func answers() throws {
        struct Sender: AnswerSender {
            let name = "list"
            let log: EventLog

            func takes(_ message: PushMessage) -> Bool { true }

            func send(_ answer: UnsentAnswer) throws {
                log.add(answer.answer.reason ?? "-")
                if log.events.count == 1 { throw TestError() }
            }
        }
        let receiver = receiver()
        receiver.onCommand(id: "lamp") { _, context in try context.answer(.failed("stuck")) }
        let test = try TestService(receiver, answers: [Sender(log: log)])
        let command = #"{"commandID":"c1","actions":[{"lamp":[{"power":true}]}],"issuer":"user:u1"}"#
        #expect(try test.send(RawPayload(command)).answer?.reason == "stuck")
        #expect(log.events == ["stuck"])
        test.advance(by: .seconds(1))
        #expect(log.events == ["stuck", "stuck"])
    }

    @Test("an inbox that cannot be read is an error at once")
    func unreadable() throws {
        let inbox = SpyInbox { _, what in what == "entries" }
        #expect(throws: SpyInbox.Failed.self) {
            _ = try TestService(PushReceiver(clock: clock), inbox: inbox)
        }
    }
}
