import Foundation
import KiiPush
import KiiPushContracts
import KiiPushDelivery
import KiiPushRules
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
        receiver.onPushToApp(id: "firmware", bucket: "firmware", object: "*", options: RouteOptions(delivery: slow)) {
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
        receiver.onPushToUser(id: "door", topic: "door", options: RouteOptions(delivery: fresh)) { message, _ in
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

/// An inbox of a user's own, as the comment supposes.
private typealias MyInbox = InMemoryInbox

extension InMemoryInbox {
    fileprivate convenience init(file: String) throws { self.init() }
    fileprivate func close() {}
}

/// The code of the test kit's doc comments.
@Suite("Documented code of the test kit", .timeLimit(.minutes(1)))
struct DocumentedTestKitTests {
    private static var path: String {
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Rules/settings.json").path
    }

    private let rules: RoutingRules

    init() throws { rules = try RuleSuite(contentsOf: Self.path).rules }

    @Test("the rules do what their tests say", arguments: try RuleSuite(contentsOf: "Rules/settings.json"))
    func rules(_ test: RuleCase) async throws { try await test.run() }

    @Test("the test receiver's own example sends twice and waits")
    func testReceiver() async throws {
        let test = try TestReceiver(rules: rules)
        let push = PayloadFixture.pushToApp(bucket: "settings").payload(.long)
        let first = await test.send(push)
        #expect(first.handlers == ["reload"] && first.outcome.disposition == .accept)
        #expect(await test.send(push).outcome.description == "duplicate (done)")
        await test.advance(by: .seconds(601))
        #expect(await test.send(push).outcome.name == "handled")
    }

    /// Settings that a handler reads again.
    private final class Settings: Sendable {
        let objects = Mutex<[KiiObject?]>([])

        func reload(_ object: KiiObject?) async throws { objects.withLock { $0.append(object) } }
    }

    @Test("a handler of one's own takes the place of a stand-in, as the guide's own example says")
    func ownHandler() async throws {
        let settings = Settings()
        let test = try TestReceiver(rules: rules) { receiver in
            receiver.register("reload") { message, _ in try await settings.reload(message.object) }
        }
        #expect(await test.send(.pushToApp(bucket: "settings")).handlers == ["reload"])
        #expect(settings.objects.withLock { $0.map { $0?.bucket.name } } == ["settings"])
    }

    /// Lets messages wait until a time.
    private final class Pause: Middleware {
        let pausedUntil = Mutex(MonotonicInstant(nanoseconds: 1_000_000_000))

        func admit(_ routed: inout RoutedMessage) -> Verdict {
            let end = pausedUntil.withLock { $0 }
            return routed.admittedAt < end ? .later(until: end) : .pass
        }
    }

    @Test("the guide's own middleware lets a message wait and is asked again")
    func pause() async throws {
        let receiver = PushReceiver(clock: ManualClock()) { Pause() }
        receiver.onAny { _, _ in }
        let test = try TestReceiver(receiver)
        #expect(await test.send(.pushToUser()).outcome.name == "paced" && test.nextDue == .seconds(1))
        #expect(await test.advance(by: .seconds(1)).map(\.outcome.name) == ["handled"])
    }

    @Test("the gate's own example loads rules that pass", arguments: [true, false])
    func gate(isFine: Bool) async throws {
        let receiver = PushReceiver()
        if isFine { receiver.register("reload") { _, _ in } }
        let bytes = Array(try Data(contentsOf: URL(filePath: Self.path)))
        let gate = RulesGate(receiver)
        switch await gate.update(bytes, file: "rules.json") {
        case .loaded(let update): print("generation", update.generation)
        case .refused(let problems): for problem in problems { print(problem) }
        case .overtaken: break
        }
        #expect(receiver.rulesGeneration == (isFine ? 1 : 0))
    }
}

/// Suites of rules files for Swift Testing.
struct RuleSuiteTests {
    @Test("a case has a name and a place, and a failed one lists every difference")
    func cases() async throws {
        let rules = try RoutingRules(
            """
            {"version":1,"rules":[],"tests":[
             {"name":"a","steps":[{"payload":{},"expect":{"outcome":"unrouted"}}]},
             {"name":"b","steps":[{"payload":{},"expect":{"outcome":"handled","kind":"pushToApp"}}]}]}
            """, file: "r.json")
        let suite = try RuleSuite(rules)
        #expect(suite.map(\.description) == ["a (r.json:2)", "b (r.json:3)"])
        #expect(suite.map(\.id) == ["r.json:2:2 a", "r.json:3:2 b"])
        try await suite[0].run()
        let error = await #expect(throws: RuleCaseFailed.self) { try await suite[1].run() }
        #expect(
            error?.description.hasPrefix(
                """
                r.json:3:47: test 'b', step 1 (line 3): outcome: expected "handled", found "unrouted" (noRoute)
                r.json:3:67: test 'b', step 1 (line 3): kind: expected "pushToApp", found "directPush"
                    stage decode: Direct Push, likely
                """) == true)
    }

    @Test(
        "refuses a file without cases, since an empty suite would pass",
        arguments: [
            (#"{"version":1,"rules":[]}"#, "r.json:1:1: the file has no tests; add a list 'tests'"),
            ("[]", "r.json:1:1: expected an object with the rules, found a list"),
        ])
    func refused(text: String, expected: String) {
        let error = #expect(throws: (any Error).self) { try RuleSuite(RoutingRules(text, file: "r.json")) }
        #expect(error.map { "\($0)" } == expected)
    }
}
