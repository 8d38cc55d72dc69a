import KiiPush
import KiiPushContracts
import KiiPushDelivery
import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPushTestSupport

/// The code of the guide to delivery, so that it compiles and does what the guide says.
@Suite("Documented delivery", .timeLimit(.minutes(1)))
struct DocumentedDeliveryTests {
    private let payloads = ["settings", "firmware"].map { PayloadFixture.pushToApp(bucket: $0).payload(.long) }

    @Test("a service delivers what its transport brings, and reports")
    func service() async throws {
        let (mails, transport) = makeMails()
        let (inbox, letters) = (InMemoryInbox(), InMemoryDeadLetterStore())
        let receiver = PushReceiver(app: "0123abcd", deadLetters: letters)
        receiver.onPushToApp(bucket: "settings", object: "*") { event, context in
            try await reload(event.object, isFirst: context.attempt == 1)
        }
        let service = PushService(receiver, [transport], inbox: inbox)
        service.onEvent { event in print(event) }
        let report = try await service.run()
        #expect(report == DrainReport())
        #expect(mails.map(\.word) == ["acknowledged", "acknowledged"])
        #expect(receiver.metrics.nonzero == ["handled: 1", "unrouted noRoute: 1"])
    }

    @Test("the service's own example runs")
    func own() async throws {
        let (_, transport) = makeMails()
        let receiver = PushReceiver()
        var slow = DeliverySettings()
        slow.attempts = 20
        slow.timeout = .seconds(300)
        slow.onFailure = .skip
        receiver.onPushToApp("firmware", bucket: "firmware", object: "*", options: RouteOptions(delivery: slow)) {
            event, _ in
            try await install(event.object)
        }
        let service = PushService(receiver, [transport])
        let report = try await service.run()
        #expect(report.left == 0 && receiver.metrics.received == 2)
    }

    @Test("a message that is too old for its route expires")
    func age() async {
        let receiver = PushReceiver()
        var fresh = DeliverySettings()
        fresh.maxAge = .seconds(30)
        receiver.onPushToUser("door", topic: "door", options: RouteOptions(delivery: fresh)) { message, _ in
            try await open(message.data["door"])
        }
        for sentAt in [1, nil] as [Int64?] {
            let payload = PayloadFixture.pushToUser(topic: "door", sentAt: sentAt).payload(.long)
            #expect(await receiver.receive(payload).description == (sentAt == nil ? "handled" : "expired"))
        }
    }

    @Test("a service that is cancelled reports what is left")
    func stopping() async throws {
        let receiver = PushReceiver()
        let service = PushService(receiver, [Mailbox(mails: AsyncStream { _ in })])
        let running = Task { try await service.run() }
        await terminationSignal()
        running.cancel()
        let report = try await running.value
        print("\(report.finished) finished, \(report.left) left")
        #expect(report == DrainReport())
    }

    private func makeMails() -> ([Mail], Mailbox) {
        let mails = payloads.map { Mail(bytes: $0.bytes) }
        let stream = AsyncStream { continuation in
            for mail in mails { continuation.yield(mail) }
            continuation.finish()
        }
        return (mails, Mailbox(mails: stream))
    }
}

struct Mailbox: PushTransport {
    let name = "mailbox"
    let abilities: TransportAbilities = [.acknowledges, .redelivers]
    let mails: AsyncStream<Mail>

    func run(_ intake: PushIntake) async throws {
        for await mail in mails {
            let receipt = try await intake.submitWaiting(RawPayload(mail.bytes, transport: "mailbox"))
            if receipt.isStored { mail.acknowledge() } else { receipt.onEnd { mail.acknowledge(unless: $0) } }
        }
    }
}

final class Mail: Sendable {
    let bytes: [UInt8]
    private let state = Mutex("open")

    init(bytes: [UInt8]) { self.bytes = bytes }

    var word: String { state.withLock { $0 } }

    func acknowledge() { state.withLock { $0 = "acknowledged" } }

    func acknowledge(unless outcome: Outcome?) {
        if outcome?.disposition != .retryLater, outcome != nil { acknowledge() }
    }
}

private func reload(_ object: KiiObject, isFirst: Bool) async throws {}
private func open(_ door: DataValue?) async throws {}
private func install(_ object: KiiObject) async throws {}
private func terminationSignal() async {}

/// The code of the contract's doc comment, so that it compiles and runs.
struct DocumentedInboxTests {
    private let folder = "/var/lib/agent"

    @Test("my inbox meets the guarantees of an inbox")
    func inbox() async {
        await InboxContract { place in
            try MyInbox(file: "\(folder)/\(place)")
        } close: {
            $0.close()
        }.verify()
    }
}

/// An inbox of a user's own, as the comment supposes; this one keeps nothing but numbers, as the one in memory.
private final class MyInbox: Inbox {
    let isDurable = false
    private let numbers = InMemoryInbox()

    init(file: String) throws {}

    func add(_ payloads: [RawPayload]) -> [UInt64] { numbers.add(payloads) }
    func record(_ records: [InboxRecord]) async { await numbers.record(records) }
    func answers(of sender: String, limit: Int) -> [UnsentAnswer] { numbers.answers(of: sender, limit: limit) }
    func entries(after id: UInt64, limit: Int) -> [InboxEntry] { [] }
    func entries(of ids: [UInt64]) -> [InboxEntry] { [] }
    func close() {}
}
