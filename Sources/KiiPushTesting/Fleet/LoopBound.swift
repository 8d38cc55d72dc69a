public import KiiPush

/// How many messages of one loop a device handles at most, worked out from the settings of its loop guard.
///
/// The rate layer needs nothing of a handler and nothing of a payload, so what it lets through is what any loop can do.
/// Of one key, on one route:
///
/// - Until its breaker opens, `LoopRate.messages` pass, or as many as `LoopRate.sustained` says.
/// - From then on a few messages are tried, at most ``tries`` in the time.
/// - A loop too slow to open the breaker goes on at its own pace: ``anything`` says how fast that may be.
///
/// A loop that makes a new object each time is bounded by the breaker of the bucket, and one that changes its bucket
/// too by that of the route.
public struct LoopBound: Sendable, Hashable {
    /// What a loop changes from message to message, and so which breaker bounds it.
    public enum Shape: Sendable, Hashable, CaseIterable {
        /// Nothing: the object's does.
        case object
        /// The object: the bucket's does.
        case bucket
        /// The bucket, topic, scope or sender: the route's does.
        case route
        /// The route too: the device's does.
        case device
    }

    /// How many messages may be tried while the loop goes on: 16 an hour.
    public let tries: Int

    /// For a loop whose answers come within a second: the messages that open the breaker, and the tries.
    public let storm: Int

    /// For anything at all, also a loop too slow to open a breaker, which goes on at its own pace.
    public let anything: Int

    /// Works out the bound.
    ///
    /// - Parameters:
    ///   - rate: the rate of the guard, or of the route.
    ///   - shape: what the loop changes from message to message.
    ///   - time: for how long the loop goes on.
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
