public import KiiPush
public import KiiPushDelivery
import Synchronization

/// Counts what a service tells beside the outcomes, and knows the state of each transport's link, for a
/// ``MetricsFile``.
///
/// ```swift
/// let counts = ServiceCounts()
/// service.onEvent { counts.count($0) }
/// ```
///
/// It keeps a few numbers for each transport, and of what the events say the last words about its link. When payloads
/// came it knows of a ``WatchedTransport`` only.
public final class ServiceCounts: Sendable {
    /// The counts of one transport's events.
    struct Transport {
        var connected = 0
        var disconnected = 0
        var refused = 0
        var possibleGaps = 0
        var ignored = 0
    }

    struct State {
        var retries = 0
        var overruns = 0
        var storeFailures = 0
        var transports: [String: Transport] = [:]
        var links: [String: TransportLink] = [:]
    }

    private let state = Mutex(State())
    package let clock: any ReceiverClock
    /// When it began to count.
    public let beginning: MonotonicInstant

    /// Begins at zero.
    ///
    /// - Parameter clock: what tells the time.
    public init(clock: any ReceiverClock = SystemClock()) {
        self.clock = clock
        beginning = clock.now
    }

    /// Counts an event.
    public func count(_ event: ServiceEvent) {
        let now = clock.now
        state.withLock { state in
            switch event {
            case .retry: state.retries += 1
            // The one that is left has been counted when it was cancelled.
            case .overrun(_, _, let isLeft): state.overruns += isLeft ? 0 : 1
            case .storeFailed: state.storeFailures += 1
            case .notDurable: break
            case .transport(let name, let event):
                switch event {
                case .connected(let how):
                    state.transports[name, default: Transport()].connected += 1
                    state.change(name, now) { $0.become(.connected, how, now) }
                case .disconnected(let why, _):
                    state.transports[name, default: Transport()].disconnected += 1
                    state.change(name, now) { $0.become(.reconnecting, why, now) }
                case .refused(let why, _):
                    state.transports[name, default: Transport()].refused += 1
                    state.change(name, now) { $0.become(.refused, why, now) }
                case .possibleGap: state.transports[name, default: Transport()].possibleGaps += 1
                case .ignored: state.transports[name, default: Transport()].ignored += 1
                }
            }
        }
    }

    var counts: State { state.withLock { $0 } }

    // MARK: Links

    /// The links of all transports that were heard of, by name.
    public var links: [TransportLink] { state.withLock { $0.links.values.sorted { $0.name < $1.name } } }

    /// Takes down that there will be a transport.
    func expect(_ name: String) { change(name) { _, _ in } }

    /// Takes down that a transport begins.
    func begin(_ name: String, isConnected: Bool) {
        change(name) { link, now in link.become(isConnected ? .connected : .connecting, nil, now) }
    }

    /// Takes down that a transport has ended.
    func end(_ name: String) { change(name) { link, now in link.become(.ended, link.detail, now) } }

    /// Takes down that a transport's payloads were taken in.
    func took(_ count: Int, _ name: String) {
        change(name) { link, now in (link.lastMessageAt, link.messages) = (now, link.messages + count) }
    }

    private func change(_ name: String, _ body: (inout TransportLink, MonotonicInstant) -> Void) {
        let now = clock.now
        state.withLock { $0.change(name, now) { link in body(&link, now) } }
    }
}

extension ServiceCounts.State {
    fileprivate mutating func change(_ name: String, _ now: MonotonicInstant, _ body: (inout TransportLink) -> Void) {
        body(&links[name, default: TransportLink(name, .starting, now)])
    }
}
