package import KiiPush
package import KiiPushDelivery
import Synchronization

/// Counts a service's events, and tracks the state of each transport's connection, for a ``MetricsFile``.
///
/// It keeps a few numbers for each transport, and the last event about its connection. It knows the time of payloads
/// only for a ``WatchedTransport``.
package final class ServiceCounts: Sendable {
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
    /// When counting began.
    package let beginning: MonotonicInstant

    /// Starts at zero.
    package init(clock: any ReceiverClock = SystemClock()) {
        self.clock = clock
        beginning = clock.now
    }

    /// Counts an event.
    package func count(_ event: ServiceEvent) {
        let now = clock.now
        state.withLock { state in
            switch event {
            case .retry: state.retries += 1
            // An abandoned handler was already counted when it was cancelled.
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

    // MARK: Connections

    /// The connections of all known transports, by name.
    package var links: [TransportLink] { state.withLock { $0.links.values.sorted { $0.name < $1.name } } }

    /// Records that a transport will start.
    func expect(_ name: String) { change(name) { _, _ in } }

    /// Records that a transport starts.
    func begin(_ name: String, isConnected: Bool) {
        change(name) { link, now in link.become(isConnected ? .connected : .connecting, nil, now) }
    }

    /// Records that a transport has ended.
    func end(_ name: String) { change(name) { link, now in link.become(.ended, link.detail, now) } }

    /// Records that a transport's payloads were accepted.
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
