import KiiPush
import KiiPushDelivery
import KiiPushTesting
import Testing

@testable import kiipush
@testable import KiiPushAgent

@Suite("kiipush dead-letters replay", .timeLimit(.minutes(5)))
struct DeadLetterReplayTests {
    /// A transport that has nothing until its task is cancelled.
    private struct Idle: PushTransport {
        let name = "idle"
        let abilities: TransportAbilities = []
        let opened: AsyncStream<Void>.Continuation

        func run(_ intake: PushIntake) async {
            opened.finish()
            let nothing = AsyncStream<Void> { _ in }
            for await _ in nothing {}
        }
    }

    @Test("a letter that an agent with smaller limits could not decode is handled by one that can, and is gone")
    func undecodable() async throws {
        let letters = InMemoryDeadLetterStore()
        let payload = PayloadFixture.pushToUser(topic: "news").payload(.long)
        for bytes in [payload.bytes, Array("nonsense".utf8)] {
            _ = try letters.add(
                DeadLetter(
                    payload: RawPayload(bytes, transport: .mqtt), reason: .undecodable, routes: [],
                    arrivedAt: MonotonicInstant(nanoseconds: 0)))
        }
        let receiver = PushReceiver(deadLetters: letters)
        receiver.onPushToUser("news", topic: "news") { _, _ in }
        let (stream, opened) = AsyncStream<Void>.makeStream()
        let service = PushService(receiver, [Idle(opened: opened)])
        let running = Task { try await service.run() }
        for await _ in stream {}

        let session = StateSession(deadLetters: letters, receiver: receiver, service: service)
        let run = await ToolRun { await DeadLetterDesk.run(["replay", "--reason", "undecodable"], session, $0.desk) }
        running.cancel()
        _ = try await running.value
        #expect(run.code == .failed, "one of them is garbage still")
        #expect(run.output == ["1: handled", "2: undecodable (unexpectedCharacter)"])
        #expect(run.errors == [] && letters.letters().map(\.id) == [2])
        #expect(receiver.metrics.routes.map(\.handled) == [1])
    }
}
