#if MQTT
import Foundation
import KiiPush
import KiiPushDelivery
import KiiPushMQTT
import Synchronization
import Testing

/// An intake that writes down what it is given, and refuses it where a test says so.
final class TestIntake: IntakeService {
    typealias Rule = @Sendable (_ payloads: [RawPayload], _ call: Int) throws(IntakeRefusal) -> Void

    private struct State {
        var texts: [String] = []
        var payloads: [RawPayload] = []
        var batches: [Int] = []
        var calls = 0
        var events: [TransportEvent] = []
        var waiter: (@Sendable () -> Void)?
        var hasRoom = true
        var listener: (@Sendable (TransportEvent) -> Void)?
    }

    let isDurable: Bool
    private let rule: Rule
    private let state = Mutex(State())
    private let receipts = Mutex<[Receipt]>([])

    init(isDurable: Bool = true, _ rule: @escaping Rule = { _, _ throws(IntakeRefusal) in }) {
        self.isDurable = isDurable
        self.rule = rule
    }

    var texts: [String] { state.withLock { $0.texts } }
    var payloads: [RawPayload] { state.withLock { $0.payloads } }
    var batches: [Int] { state.withLock { $0.batches } }
    var calls: Int { state.withLock { $0.calls } }
    var events: [TransportEvent] { state.withLock { $0.events } }
    var isWaitedFor: Bool { state.withLock { $0.waiter != nil } }

    var connections: [String] { events.compactMap { if case .connected(let detail) = $0 { detail } else { nil } } }
    var gaps: [String] { events.compactMap { if case .possibleGap(let why, _) = $0 { why } else { nil } } }
    var losses: [String] { events.compactMap { if case .disconnected(let why, _) = $0 { why } else { nil } } }
    var refusals: [String] { events.compactMap { if case .refused(let why, _) = $0 { why } else { nil } } }
    var pauses: [Duration] { events.compactMap { if case .disconnected(_, let pause) = $0 { pause } else { nil } } }
    var ignored: [String] { events.compactMap { if case .ignored(let what) = $0 { what } else { nil } } }

    func submit(_ payloads: [RawPayload]) throws(IntakeRefusal) -> [Receipt] {
        let call = state.withLock { state in
            state.calls += 1
            return state.calls
        }
        try rule(payloads, call)
        state.withLock { state in
            state.payloads += payloads
            state.texts += payloads.map { String(decoding: $0.bytes, as: UTF8.self) }
            state.batches.append(payloads.count)
        }
        let made = payloads.map { _ in Receipt(isStored: isDurable) }
        receipts.withLock { $0 += made }
        return made
    }

    /// Ends a payload that was taken in.
    func end(_ index: Int, _ outcome: Outcome?) { receipts.withLock { $0[index] }.finish(outcome) }

    func room() async {}

    func pause(_ length: Duration) async { try? await Task.sleep(for: length) }

    func whenRoom(_ action: @escaping @Sendable () -> Void) {
        let isThere = state.withLock { state in
            if !state.hasRoom { state.waiter = action }
            return state.hasRoom
        }
        if isThere { action() }
    }

    /// Says whether there is room, to who asks.
    func setRoom(_ hasRoom: Bool) {
        let waiter = state.withLock { state in
            state.hasRoom = hasRoom
            defer { if hasRoom { state.waiter = nil } }
            return hasRoom ? state.waiter : nil
        }
        waiter?()
    }

    /// Calls an action with each event, on the thread that reports it and before that goes on.
    func onEvent(_ action: @escaping @Sendable (TransportEvent) -> Void) { state.withLock { $0.listener = action } }

    func report(_ event: TransportEvent, _ transport: String) {
        let listener = state.withLock { state in
            state.events.append(event)
            return state.listener
        }
        listener?(event)
    }
}

/// Waits until a condition holds, for as long as a loaded machine may need; what happens in other processes has no
/// other sign.
func eventually(
    _ what: String, within seconds: Double = 60, sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () -> Bool
) async throws {
    let end = ContinuousClock.now + .seconds(seconds)
    while !condition() {
        guard ContinuousClock.now < end else {
            Issue.record("not within \(seconds) s: \(what)", sourceLocation: sourceLocation)
            throw CancellationError()
        }
        try await Task.sleep(for: .milliseconds(5))
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

/// Runs a transport that gives up by itself, and returns why.
func failure(_ settings: MQTTSettings, _ intake: TestIntake) async throws -> MQTTError? {
    let transport = try MQTTTransport(settings)
    let task = Task { try await transport.run(PushIntake(service: intake, transport: "mqtt")) }
    let limit = Task {
        try await Task.sleep(for: .seconds(20))
        task.cancel()
    }
    defer { limit.cancel() }
    do { try await task.value } catch { return error as? MQTTError }
    return nil
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
