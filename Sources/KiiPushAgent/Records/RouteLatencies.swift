package import KiiPush
import Synchronization

/// How long messages wait for each route's handler, and how long the handlers run; for a ``MetricsFile``.
///
/// It keeps two histograms per route, 400 bytes, for at most 1,024 routes; further ones are counted as `other`, until
/// ``keep(_:)`` frees capacity.
package final class RouteLatencies: Sendable {
    /// The histograms of one route.
    package struct Times: Sendable, Hashable {
        /// From a message's arrival to the start of its first attempt: in lanes and on disk.
        package internal(set) var waiting = LatencyHistogram()
        /// Each run of the handler, including failed ones.
        package internal(set) var handling = LatencyHistogram()

        /// Empty histograms.
        package init() {}
    }

    static let mostRoutes = 1024
    static let others = "other"

    private let routes = Mutex<[String: Times]>([:])

    /// Starts empty.
    package init() {}

    /// Counts the times of a message's handlers.
    package func count(_ trace: Trace) {
        guard !trace.calls.isEmpty else { return }
        routes.withLock { routes in
            var first: Set<String> = []
            for call in trace.calls {
                let isKnown = routes[call.route] != nil || routes.count < Self.mostRoutes
                let name = isKnown ? call.route : Self.others
                routes[name, default: Times()].handling.add(call.nanoseconds)
                if first.insert(call.route).inserted {
                    routes[name, default: Times()].waiting.add(call.waitedNanoseconds)
                }
            }
        }
    }

    /// Removes routes that no longer exist, after rules have been loaded again.
    package func keep(_ ids: some Sequence<String>) {
        let ids = Set(ids)
        routes.withLock { routes in routes = routes.filter { ids.contains($0.key) } }
    }

    /// The histograms by route; omits routes without a call.
    package var times: [String: Times] { routes.withLock { $0 } }
}
