package import KiiPush
package import KiiPushDelivery
import Synchronization

/// Counts a service's events, and tracks the state of each transport's connection, for a ``MetricsFile``.
///
/// It keeps a few numbers for each transport, and the last event about its connection. It knows the time of payloads
/// only for a ``WatchedTransport``.
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
    /// When counting began.
    package let beginning: MonotonicInstant

    /// Starts at zero.
    package init(clock: any ReceiverClock = SystemClock()) {
        self.clock = clock
        beginning = clock.now
    }

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
                state.events[name, default: [:]][event.name, default: 0] += 1
                switch event {
                case .connected(let how): state.change(name, now) { $0.become(.connected, how, now) }
                case .disconnected(let why, _): state.change(name, now) { $0.become(.reconnecting, why, now) }
                case .refused(let why, _): state.change(name, now) { $0.become(.refused, why, now) }
                case .possibleGap, .ignored: break
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
