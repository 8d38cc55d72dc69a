import KiiPushContracts
import KiiPushDelivery
import Synchronization
import Testing

@testable import KiiPush

/// The contract of a transport against one that is a task, as the guide shows it.
@Suite(.timeLimit(.minutes(1)))
struct WaitingTransportTests {
    @Test("a transport that waits for capacity as a task meets the contract of a transport")
    func contract() async { await TransportContract { Mailbox() }.verify() }
}

/// A transport and its sender: a stream that ends when it is cut.
private final class Mailbox: PushTransport, TransportBench {
    let name = "mailbox"
    let abilities: TransportAbilities = [.acknowledges]
    let endsWhenCut = true
    private let mails = AsyncStream.makeStream(of: [UInt8].self)
    private let heard = Mutex(TransportAnswers())

    var transport: any PushTransport { self }

    func run(_ intake: PushIntake) async throws {
        for await mail in mails.stream {
            let receipt = try await intake.submitWaiting(RawPayload(mail))
            if receipt.isStored { acknowledge() } else { receipt.onEnd { self.acknowledge(unless: $0) } }
        }
    }

    private func acknowledge(unless outcome: Outcome?) {
        if let outcome, outcome.disposition != .retryLater { acknowledge() }
    }

    private func acknowledge() { heard.withLock { $0.acknowledged += 1 } }

    func send(_ payloads: [[UInt8]]) { for payload in payloads { mails.continuation.yield(payload) } }
    func answers() -> TransportAnswers { heard.withLock { $0 } }
    func cut() { mails.continuation.finish() }
}
