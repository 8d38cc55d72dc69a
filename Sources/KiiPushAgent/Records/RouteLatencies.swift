package import KiiPush
import Synchronization

/// How long messages wait for each route's handler, and how long the handlers run; for a ``MetricsFile``.
///
/// It keeps 400 bytes a route, for at most 1,024 routes; further ones count as `other`, until ``keep(_:)``.
package final class RouteLatencies: Sendable {
    package struct Times: Sendable, Hashable {
        /// From a message's arrival to the start of its first attempt: in lanes and on disk.
        package internal(set) var waiting = LatencyHistogram()
        /// Each run of the handler, including failed ones.
        package internal(set) var handling = LatencyHistogram()

        package init() {}

        /// Counts a call; only the first one of a message has waited.
        fileprivate mutating func add(_ call: Trace.Call, isFirst: Bool) {
            handling.add(call.nanoseconds)
            if isFirst { waiting.add(call.waitedNanoseconds) }
        }
    }

    static let mostRoutes = 1024
    static let others = ExactText("other")

    private let routes = Mutex<[ExactText: Times]>([:])

    package init() {}

    package func count(_ trace: Trace) { count(trace.calls) }

    func count(_ calls: [Trace.Call]) {
        guard !calls.isEmpty else { return }
        routes.withLock { routes in
            for (index, call) in calls.enumerated() {
                let route = ExactText(call.route)
                let isFirst = !calls[..<index].contains { $0.route.isExactly(call.route) }
                let isKnown = routes.count < Self.mostRoutes || routes[route] != nil
                routes[isKnown ? route : Self.others, default: Times()].add(call, isFirst: isFirst)
            }
        }
    }

    /// Removes routes that no longer exist, after rules have been loaded again.
    package func keep(_ ids: some Sequence<String>) {
        let ids = Set(ids.map { ExactText($0) })
        routes.withLock { routes in routes = routes.filter { ids.contains($0.key) } }
    }

    /// The histograms by route; omits routes without a call.
    package var times: [ExactText: Times] { routes.withLock { $0 } }
}

/// Counts durations in buckets from 0.1 ms to 60 s, in steps of one, two and five, and one for longer ones.
package struct LatencyHistogram: Sendable, Hashable {
    /// The upper bounds of all buckets except the last, in nanoseconds.
    static let bounds: [Int64] = [
        100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000, 20_000_000, 50_000_000, 100_000_000,
        200_000_000, 500_000_000, 1_000_000_000, 2_000_000_000, 5_000_000_000, 10_000_000_000, 20_000_000_000,
        60_000_000_000,
    ]

    private(set) var buckets = [Int](repeating: 0, count: bounds.count + 1)
    package private(set) var count = 0
    /// The sum of all, in nanoseconds, limited to 292 years.
    package private(set) var sum: Int64 = 0
    /// The longest, in nanoseconds.
    package private(set) var longest: Int64 = 0

    package init() {}

    /// Counts a duration in nanoseconds; a negative one counts as zero.
    package mutating func add(_ nanoseconds: Int64) {
        let length = max(nanoseconds, 0)
        let bucket = Self.bounds.firstIndex { length <= $0 } ?? Self.bounds.count
        buckets[bucket] += 1
        count += 1
        let (total, overflow) = sum.addingReportingOverflow(length)
        sum = overflow ? .max : total
        longest = max(longest, length)
    }

    /// The time that a share of all, from 0 to 1, stayed within, in nanoseconds; nil if nothing was counted.
    ///
    /// It interpolates linearly within a bucket, as Prometheus does, and never exceeds ``longest``.
    package func quantile(_ share: Double) -> Int64? {
        guard count > 0 else { return nil }
        let rank = min(max(share, 0), 1) * Double(count)
        var below = 0
        for (index, bucket) in buckets.enumerated() {
            if bucket > 0, Double(below + bucket) >= rank {
                let low = index == 0 ? 0 : Self.bounds[index - 1]
                let high = index < Self.bounds.count ? min(Self.bounds[index], longest) : longest
                let part = (rank - Double(below)) / Double(bucket)
                return min(longest, low + Int64(Double(max(high - low, 0)) * part))
            }
            below += bucket
        }
        return longest
    }
}
