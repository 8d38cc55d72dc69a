import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushDelivery
@testable import KiiPushTestSupport

/// Messages with equal weak keys are told apart by when they arrived, however they are handled.
@Suite(.timeLimit(.minutes(1)))
struct WeakWindowTests {
    private let clock = ManualClock()
    private let log = EventLog()

    private func push(arrivedAt seconds: Int64? = nil) -> RawPayload {
        var payload = PayloadFixture.directPush().payload(.long)
        payload.arrivedAt = seconds.map { .seconds($0) }
        return payload
    }

    @Test("a repetition that arrives long after a push is handled, however late that one's handler ended")
    func slowHandler() async {
        let (clock, log) = (clock, log)
        let receiver = PushReceiver(clock: clock)
        receiver.onDirectPush { _, _ in
            log.add("handled")
            clock.advance(by: .seconds(30))
        }
        _ = await receiver.receive(push())
        clock.advance(by: .seconds(1))
        #expect(await "\(receiver.receive(push()))" == "handled")
        #expect(log.events.count == 2)
    }

    @Test("of equal pushes that a service has waiting, each is handled that arrived long enough after another")
    func service() async throws {
        let (clock, log, gate) = (clock, log, Gate())
        let receiver = PushReceiver(clock: clock)
        receiver.onDirectPush { _, context in
            log.add("\(context.arrivedAt.nanoseconds / 1_000_000_000)")
            await gate.wait()
        }
        let transport = HandTransport()
        let service = PushService(receiver, [transport])
        let run = Task { try await service.run() }
        let intake = await transport.intake()
        var receipts: [Receipt] = []
        for arrival in [0, 2, 10, 12, 20] { receipts += try intake.submit([push(arrivedAt: Int64(arrival))]) }
        gate.open()
        #expect(await receipts.words().filter { $0 == "handled" }.count == 3)
        #expect(log.events.sorted() == ["0", "10", "20"])
        transport.finish()
        _ = try await run.value
    }
}
