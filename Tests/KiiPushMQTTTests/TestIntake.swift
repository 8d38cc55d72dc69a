#if MQTT
import Foundation
import KiiPush
import KiiPushContracts
import KiiPushDelivery
import KiiPushMQTT
import Synchronization
import Testing

@testable import KiiPushTestSupport

/// A trial intake that a test can also make refuse single submissions, and whose events it hears as they are reported.
final class TestIntake: IntakeService {
    private let trial: TrialIntake
    private let beforeCall: @Sendable (_ call: Int) throws(IntakeRefusal) -> Void
    private let calls = Atomic<Int>(0)
    private let listener = Mutex<(@Sendable (TransportEvent) -> Void)?>(nil)

    /// Makes one; `beforeCall` is called with the number of each submission, from 1 on, and may refuse it.
    init(
        isDurable: Bool = true,
        beforeCall: @escaping @Sendable (_ call: Int) throws(IntakeRefusal) -> Void = { _ throws(IntakeRefusal) in }
    ) {
        trial = TrialIntake(isDurable: isDurable)
        self.beforeCall = beforeCall
    }

    var payloads: [RawPayload] { trial.payloads }
    var texts: [String] { trial.texts }
    var batches: [Int] { trial.batches }
    var isAwaited: Bool { trial.isAwaited }
    var events: [TransportEvent] { trial.events }

    func end(_ index: Int, _ outcome: Outcome?) { trial.end(index, outcome) }
    func refuse(_ refusal: IntakeRefusal?) { trial.refuse(refusal) }
    func setRoom(_ count: Int) { trial.setRoom(count) }

    var connections: [String] { events.compactMap { if case .connected(let detail) = $0 { detail } else { nil } } }
    var gaps: [String] { events.compactMap { if case .possibleGap(let why, _) = $0 { why } else { nil } } }
    var losses: [String] { events.compactMap { if case .disconnected(let why, _) = $0 { why } else { nil } } }
    var refusals: [String] { events.compactMap { if case .refused(let why, _) = $0 { why } else { nil } } }
    var pauses: [Duration] { events.compactMap { if case .disconnected(_, let pause) = $0 { pause } else { nil } } }
    var ignored: [String] { events.compactMap { if case .ignored(let what) = $0 { what } else { nil } } }

    /// How often a transport has submitted payloads.
    var submissions: Int { calls.load(ordering: .relaxed) }

    /// Calls an action with each event, on the thread that reports it and before that goes on.
    func onEvent(_ action: @escaping @Sendable (TransportEvent) -> Void) { listener.withLock { $0 = action } }

    // MARK: The intake

    var isDurable: Bool { trial.isDurable }

    func submit(_ payloads: [RawPayload]) throws(IntakeRefusal) -> [Receipt] {
        try beforeCall(calls.add(1, ordering: .relaxed).newValue)
        return try trial.submit(payloads)
    }

    func room() async { await trial.room() }
    func pause(_ length: Duration) async { await trial.pause(length) }
    func whenRoom(_ action: @escaping @Sendable () -> Void) { trial.whenRoom(action) }

    func report(_ event: TransportEvent, _ transport: String) {
        trial.report(event, transport)
        listener.withLock { $0 }?(event)
    }

    func drop(_ what: String, largerThan limit: Int, _ network: Transport?, of transport: String) {
        trial.drop(what, largerThan: limit, network, of: transport)
    }
}

/// Runs a transport while a test's body runs, then stops it and says what it threw; the body begins once there is a
/// connection, or at once where none is due.
func running(
    _ settings: MQTTSettings, _ intake: TestIntake, connects: Bool = true,
    sourceLocation: SourceLocation = #_sourceLocation, _ body: (MQTTTransport) async throws -> Void
) async throws {
    let transport = try MQTTTransport(settings)
    let task = Task { try await transport.run(PushIntake(service: intake, transport: "mqtt")) }
    do {
        if connects {
            try await eventually("connected", sourceLocation: sourceLocation) { !intake.connections.isEmpty }
        }
        try await body(transport)
    } catch {
        task.cancel()
        if case .failure(let cause) = await task.result { Issue.record(cause, "the transport has given up") }
        throw error
    }
    task.cancel()
    try await task.value
}

/// Runs a transport, which need not connect, until a condition holds.
func running(
    _ settings: MQTTSettings, _ intake: TestIntake, until what: String, within seconds: Double = 60,
    sourceLocation: SourceLocation = #_sourceLocation, _ condition: () -> Bool
) async throws {
    try await running(settings, intake, connects: false, sourceLocation: sourceLocation) { _ in
        try await eventually(what, within: seconds, sourceLocation: sourceLocation, condition)
    }
}

extension Broker {
    /// Settings for this broker, with short pauses.
    func settings(_ change: (inout MQTTSettings) -> Void = { _ in }) -> MQTTSettings {
        localSettings(port: port, change)
    }
}

extension Relay {
    /// The same for the broker that it leads to.
    func settings(_ change: (inout MQTTSettings) -> Void = { _ in }) -> MQTTSettings {
        localSettings(port: port, change)
    }
}

/// Settings for a port of this machine, with short pauses.
func localSettings(
    port: Int, usesTLS: Bool = false, _ change: (inout MQTTSettings) -> Void = { _ in }
) -> MQTTSettings {
    var settings = MQTTSettings(host: "127.0.0.1", port: port, topic: "push", usesTLS: usesTLS)
    settings.clientID = "device"
    settings.backoff = .milliseconds(20)
    settings.maxBackoff = .milliseconds(200)
    settings.risksMQTT5 = true
    change(&settings)
    return settings
}
#endif
