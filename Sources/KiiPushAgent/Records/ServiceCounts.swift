package import KiiPush
package import KiiPushDelivery
import Synchronization

/// Counts a service's events, and tracks the state of each transport's connection, for a ``MetricsFile``.
///
/// It knows the time of payloads only for a ``WatchedTransport``.
package final class ServiceCounts: Sendable {
    struct State {
        var retries = 0
        var overruns = 0
        var storeFailures = 0
        /// The events of each transport, by their names.
        var events: [String: [String: Int]] = [:]
        var links: [String: TransportLink] = [:]
    }

    private let state = Mutex(State())
    package let clock: any ReceiverClock
    package let beginning: MonotonicInstant

    package init(clock: any ReceiverClock = SystemClock()) {
        self.clock = clock
        beginning = clock.now
    }

    package func count(_ event: ServiceEvent) {
        state.withLock { state in
            switch event {
            case .retry: state.retries += 1
            // An abandoned handler was already counted when it was cancelled.
            case .overrun(_, _, let isLeft): state.overruns += isLeft ? 0 : 1
            case .storeFailed: state.storeFailures += 1
            case .notDurable, .recovering: break
            case .transport(let name, let event):
                state.events[name, default: [:]][event.name, default: 0] += 1
            }
        }
        guard case .transport(let name, let event) = event else { return }
        switch event {
        case .connected(let how): change(name) { link, now in link.become(.connected, how, now) }
        case .disconnected(let why, _): change(name) { link, now in link.become(.reconnecting, why, now) }
        case .refused(let why, _): change(name) { link, now in link.become(.refused, why, now) }
        case .possibleGap, .ignored: break
        }
    }

    var counts: State { state.withLock { $0 } }

    /// The connections of all known transports, by name.
    package var links: [TransportLink] { state.withLock { $0.links.values.sorted { $0.name < $1.name } } }

    func expect(_ name: String) { change(name) { _, _ in } }

    func begin(_ name: String, isConnected: Bool) {
        change(name) { link, now in link.become(isConnected ? .connected : .connecting, nil, now) }
    }

    func end(_ name: String) { change(name) { link, now in link.become(.ended, link.detail, now) } }

    /// Records that a transport's payloads were accepted.
    func took(_ count: Int, _ name: String) {
        change(name) { link, now in (link.lastMessageAt, link.messages) = (now, link.messages + count) }
    }

    private func change(_ name: String, _ body: (inout TransportLink, MonotonicInstant) -> Void) {
        let now = clock.now
        state.withLock { body(&$0.links[name, default: TransportLink(name, .starting, now)], now) }
    }
}

/// The state of a transport's connection, and the time of its last payload; tracked by ``ServiceCounts``.
package struct TransportLink: Sendable, Hashable {
    package enum State: String, Sendable, Hashable, CaseIterable {
        /// The service has not started the transport yet: it handles messages of an earlier process.
        case starting
        /// The transport has started, and is not connected yet.
        case connecting
        /// Payloads can arrive.
        case connected
        /// The connection was lost or failed; the transport retries.
        case reconnecting
        /// The broker or server refuses the transport; it retries with growing pauses.
        case refused
        case ended
    }

    package let name: String
    package internal(set) var state: State
    /// The time of the last change, on the clock of the counts.
    package internal(set) var since: MonotonicInstant
    /// The transport's description of the connection or the failure; nil if it gave none.
    package internal(set) var detail: String?
    /// When payloads were last accepted; nil if none were.
    package internal(set) var lastMessageAt: MonotonicInstant?
    package internal(set) var messages = 0

    package var isUp: Bool { state == .connected }

    init(_ name: String, _ state: State, _ since: MonotonicInstant) {
        (self.name, self.state, self.since) = (name, state, since)
    }

    mutating func become(_ new: State, _ detail: String?, _ now: MonotonicInstant) {
        // A repeated failure is not a new state, but may have a new reason.
        if state != new { since = now }
        (state, self.detail) = (new, detail)
    }
}

/// Wraps a transport so that ``ServiceCounts`` know when it starts, brings payloads and ends, and a capture file has
/// the payloads, once each: an earlier process has already recorded those that it left in the inbox.
package struct WatchedTransport: PushTransport {
    private let transport: any PushTransport
    private let counts: ServiceCounts
    private let connects: Bool
    private let record: @Sendable (RawPayload) -> Void

    /// Watches a transport; one that does not report its connection counts as connected while it runs.
    package init(
        _ transport: any PushTransport, _ counts: ServiceCounts, connects: Bool = true,
        record: @escaping @Sendable (RawPayload) -> Void = { _ in }
    ) {
        (self.transport, self.counts, self.connects, self.record) = (transport, counts, connects, record)
        counts.expect(transport.name)
    }

    package var name: String { transport.name }
    package var abilities: TransportAbilities { transport.abilities }

    package func run(_ intake: PushIntake) async throws {
        counts.begin(name, isConnected: !connects)
        defer { counts.end(name) }
        var intake = intake
        intake.accepted = { [counts, name, record] payloads in
            counts.took(payloads.count, name)
            for payload in payloads { record(payload) }
        }
        do { try await transport.run(intake) } catch {
            if error is CancellationError || error is IntakeRefusal { throw error }
            throw AgentError("\(escaped(name)): \(error)")
        }
    }
}
