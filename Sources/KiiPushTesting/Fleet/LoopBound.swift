public import KiiPush

/// The most messages of one loop that a device handles, computed from the settings of its loop guard.
///
/// The rate layer needs no cooperation of handlers and no data of payloads, so its limit holds for any loop. For one
/// key, on one route:
///
/// - Until its breaker opens, `LoopRate.messages` pass, or as many as `LoopRate.sustained` says.
/// - Afterwards a few messages are tried, at most ``tries`` in the time.
/// - A loop too slow to open the breaker continues at its own pace: ``anything`` bounds that pace.
///
/// A loop that creates a new object each time is bounded by the bucket's breaker, and one that also changes its bucket
/// by the route's.
public struct LoopBound: Sendable, Hashable {
    /// What a loop changes from message to message, which decides the breaker that bounds it.
    public enum Shape: Sendable, Hashable, CaseIterable {
        /// Nothing: the object's breaker does.
        case object
        /// The object: the bucket's breaker does.
        case bucket
        /// The bucket, topic, scope or sender: the route's breaker does.
        case route
        /// The route too: the device's breaker does.
        case device
    }

    /// How many messages may be tried while the loop lasts: 16 an hour.
    public let tries: Int

    /// The bound for a loop whose answers come within a second: the messages that open the breaker, and the tries.
    public let storm: Int

    /// The bound for any loop, including one too slow to open a breaker.
    public let anything: Int

    /// Computes the bound.
    ///
    /// - Parameters:
    ///   - rate: the rate of the guard, or of the route.
    ///   - shape: what the loop changes from message to message.
    ///   - time: how long the loop lasts.
    public init(_ rate: LoopRate = .standard, shape: Shape = .object, in time: Duration) {
        let own = LoopRate.Limit(messages: rate.messages, window: rate.window)
        let (fast, slow) =
            switch shape {
            case .object: (own, rate.sustained ?? own)
            case .bucket: (rate.ofBucket, rate.ofBucket)
            case .route: (rate.ofRoute, rate.ofRoute)
            case .device: (rate.ofDevice, rate.ofDevice)
            }
        tries = 16 * max(1, Int((time / .seconds(3600)).rounded(.up)))
        storm = max(fast.messages, slow.messages) + tries
        anything = slow.messages * (Self.whole(time, slow.window) + 1) + tries
    }

    private static func whole(_ time: Duration, _ span: Duration) -> Int {
        span > .zero ? Int(min(time / span, 1e9)) : 1_000_000_000
    }
}
