import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushDelivery
@testable import KiiPushTestSupport

@Suite(.oneByOne, .timeLimit(.minutes(1)))
struct PushServiceTests {
    @Test("what a transport hands over is handled, and its receipt tells so")
    func handled() async throws {
        let clock = ManualClock()
        let receiver = PushReceiver(clock: clock)
        let log = EventLog()
        receiver.onPushToApp("r", bucket: "settings") { event, _ in log.add(event.bucket.name) }
        let transport = HandTransport()
        let service = PushService(receiver, [transport], executor: OwnThreads.executor)
        let run = OwnThreads.start { try await service.run() }
        let intake = await transport.intake()
        let receipts = try intake.submit([PayloadFixture.pushToApp().payload(.long), RawPayload("nonsense")])
        #expect(await receipts[0].end()?.description == "handled")
        #expect(await receipts[1].end()?.name == "undecodable")
        #expect(!receipts[0].isStored)
        transport.finish()
        #expect(try await run.value == DrainReport())
        #expect(log.events == ["settings"])
        #expect(try receiver.deadLetters.letters().map(\.reason) == [.undecodable])
        #expect(receiver.metrics.received == 2)
    }

    @Test("a handler that fails runs again after a pause that doubles, and the last failure is a dead letter")
    func retries() async throws {
        let clock = ManualClock()
        let receiver = PushReceiver(clock: clock)
        let log = EventLog()
        receiver.onPushToApp("good", bucket: "settings", options: .continue) { _, _ in log.add("good") }
        receiver.onPushToApp("bad", bucket: "settings") { _, _ in
            log.add("bad at \(clock.now.nanoseconds / 1_000_000)")
            throw TestError()
        }
        let transport = HandTransport()
        let service = PushService(receiver, [transport], jitter: { 0 }, executor: OwnThreads.executor)
        let run = OwnThreads.start { try await service.run() }
        let receipt = try await transport.intake().submit([PayloadFixture.pushToApp().payload(.long)])[0]
        let end = OwnThreads.start { await receipt.end() }
        for (attempt, pause) in [200, 400, 800, 1600].enumerated() {
            try await until { service.status.retrying == 1 && log.events.count == attempt + 2 }
            clock.advance(by: .milliseconds(pause))
        }
        #expect(try await end.value?.description == "deadLettered (failed)")
        #expect(log.events == ["good", "bad at 0", "bad at 200", "bad at 600", "bad at 1400", "bad at 3000"])
        let letter = try #require(try receiver.deadLetters.letters().first)
        #expect(letter.routes == ["bad"])
        #expect(letter.attempts == 5)
        #expect(letter.cause == "TestError")
        run.cancel()
        #expect(try await run.value == DrainReport())
    }

    @Test("what has survived its attempt alone runs beside others, also after a stop")
    func survived() async throws {
        let inbox = SpyInbox()
        _ = try inbox.add([ServiceBench.payload(1, "a")])
        try await inbox.record(.begun(1, attempt: 1))
        do {
            let bench = ServiceBench(inbox: SpyInbox(inbox.disk)) { _, _ in throw TestError() }
            let (_, run) = await bench.open()
            try await until { bench.service.status.retrying == 1 }
            run.cancel()
            _ = try await run.value
        }
        let gate = Gate()
        let bench = ServiceBench(inbox: SpyInbox(inbox.disk)) { message, _ in
            if message.number == 1 { await gate.wait() }
        }
        let (intake, run) = await bench.open()
        try await bench.calls(1)
        let receipt = try intake.submit([ServiceBench.payload(2, "b")])[0]
        for _ in 0..<500 where receipt.word == "open" { await Task.yield() }
        #expect(receipt.word == "handled")
        gate.open()
        #expect(try await bench.close(run) == DrainReport())
    }
}
