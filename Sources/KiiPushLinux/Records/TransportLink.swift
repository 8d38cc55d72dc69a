public import KiiPush
public import KiiPushDelivery

/// How a transport is linked to what brings its payloads, and when it brought the last one; as ``ServiceCounts`` know
/// it.
public struct TransportLink: Sendable, Hashable {
    /// What a link is about.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// The service has not let the transport begin: it handles what an earlier process left.
        case starting
        /// The transport has begun, and is not connected yet.
        case connecting
        /// Payloads can come.
        case connected
        /// The connection was lost, or could not be made; the transport tries again.
        case reconnecting
        /// The other end does not let the transport in; it asks again, with growing pauses.
        case refused
        /// The transport has ended.
        case ended
    }

    /// The transport's name.
    public let name: String
    /// What the link is about now.
    public internal(set) var state: State
    /// Since when, on the clock of the counts.
    public internal(set) var since: MonotonicInstant
    /// How it is connected, or why not, in the transport's own words; nil where it said nothing.
    public internal(set) var detail: String?
    /// When payloads were taken in last; nil where none was.
    public internal(set) var lastMessageAt: MonotonicInstant?
    /// How many payloads were taken in.
    public internal(set) var messages = 0

    /// Whether payloads can come.
    public var isUp: Bool { state == .connected }

    init(_ name: String, _ state: State, _ since: MonotonicInstant) {
        (self.name, self.state, self.since) = (name, state, since)
    }

    mutating func become(_ new: State, _ detail: String?, _ now: MonotonicInstant) {
        // A further attempt that fails is no new state, but may have a new reason.
        if state != new { since = now }
        (state, self.detail) = (new, detail)
    }
}

/// A transport of which ``ServiceCounts`` know when it begins, brings payloads and ends.
///
/// ```swift
/// let service = PushService(receiver, [WatchedTransport(transport, counts)])
/// service.onEvent { counts.count($0) }
/// ```
public struct WatchedTransport: PushTransport {
    private let transport: any PushTransport
    private let counts: ServiceCounts
    private let connects: Bool

    /// Watches a transport.
    ///
    /// - Parameters:
    ///   - transport: the transport.
    ///   - counts: the counts that are updated.
    ///   - connects: whether it tells when it is connected; one that does not counts as connected while it runs.
    public init(_ transport: any PushTransport, _ counts: ServiceCounts, connects: Bool = true) {
        (self.transport, self.counts, self.connects) = (transport, counts, connects)
        counts.expect(transport.name)
    }

    /// The transport's name.
    public var name: String { transport.name }
    /// What the transport can do.
    public var abilities: TransportAbilities { transport.abilities }

    /// Runs the transport.
    public func run(_ intake: PushIntake) async throws {
        counts.begin(name, isConnected: !connects)
        defer { counts.end(name) }
        let watching = WatchingIntake(service: intake.service, counts: counts, name: name)
        try await transport.run(PushIntake(service: watching, transport: name))
    }
}

private struct WatchingIntake: IntakeLayer {
    let service: any IntakeService
    let counts: ServiceCounts
    let name: String

    func submit(_ payloads: [RawPayload]) throws(IntakeRefusal) -> [Receipt] {
        let receipts = try service.submit(payloads)
        counts.took(payloads.count, name)
        return receipts
    }
}
