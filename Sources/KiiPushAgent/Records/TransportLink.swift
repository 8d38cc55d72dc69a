package import KiiPush
package import KiiPushDelivery

/// The state of a transport's connection, and the time of its last payload; tracked by ``ServiceCounts``.
package struct TransportLink: Sendable, Hashable {
    /// The state of a connection.
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
        /// The transport has ended.
        case ended
    }

    package let name: String
    /// The current state.
    package internal(set) var state: State
    /// The time of the last change, on the clock of the counts.
    package internal(set) var since: MonotonicInstant
    /// The transport's description of the connection or the failure; nil if it gave none.
    package internal(set) var detail: String?
    /// When payloads were last accepted; nil if none were.
    package internal(set) var lastMessageAt: MonotonicInstant?
    /// How many payloads were accepted.
    package internal(set) var messages = 0

    /// Whether payloads can arrive.
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
        try await transport.run(intake)
    }
}
