/// Counts durations in buckets with fixed bounds, in constant memory.
///
/// The bounds are 0.1, 0.2 and 0.5 ms, and so on in steps of one, two and five up to 60 s; a last bucket counts longer
/// ones.
package struct LatencyHistogram: Sendable, Hashable {
    /// The upper bounds of all buckets except the last, in nanoseconds.
    static let bounds: [Int64] = [
        100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000, 20_000_000, 50_000_000, 100_000_000,
        200_000_000, 500_000_000, 1_000_000_000, 2_000_000_000, 5_000_000_000, 10_000_000_000, 20_000_000_000,
        60_000_000_000,
    ]

    private(set) var buckets = [Int](repeating: 0, count: bounds.count + 1)
    /// How many were counted.
    package private(set) var count = 0
    /// The sum of all, in nanoseconds, limited to 292 years.
    package private(set) var sum: Int64 = 0
    /// The longest, in nanoseconds.
    package private(set) var longest: Int64 = 0

    /// Begins empty.
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
