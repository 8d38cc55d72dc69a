public import KiiPush

/// How many messages of one loop a device handles at most, worked out from the settings of its loop guard.
///
/// The rate layer needs nothing of a handler and nothing of a payload, so what it lets through is what any loop can do.
/// Of one key, on one route:
///
/// - Until its breaker opens, ``KiiPush/LoopRate/messages`` pass.
/// - Then one probe a cool-down, which doubles from ``KiiPush/LoopRate/coolDown`` up to an hour: ``probes``.
/// - Where a probe's echo does not come within ``KiiPush/LoopRate/per``, since it was lost or other devices hold it, the
///   loop seems to have ended: what was held follows, at most 100 messages, and the breaker counts anew.
///
/// A loop that makes a new object each time is bounded by the bucket's breaker instead, in the same way.
public struct LoopBound: Sendable, Hashable {
    /// How many probes fit into the time, when each finds the loop still there.
    public let probes: Int

    /// For a loop faster than the rate whose echoes come back to the device that probed: the messages and the probes.
    public let storm: Int

    /// For a loop faster than the rate on a network that loses messages: at each probe, all that was held may follow,
    /// and the breaker may count anew.
    public let stormWithLoss: Int

    /// For anything at all, also a loop too slow to open a breaker, which goes on: in each ``KiiPush/LoopRate/per`` as
    /// many as may pass, and after each cool-down what was held.
    public let anything: Int

    /// How many messages of one key are held at most.
    public static let mostHeld = 100

    /// Works out the bound.
    ///
    /// - Parameters:
    ///   - rate: the rate of the guard, or of the route.
    ///   - isWide: whether each message is about another object, so that the breaker of the bucket counts.
    ///   - time: for how long the loop goes on.
    public init(_ rate: LoopRate = .standard, isWide: Bool = false, in time: Duration) {
        let messages = isWide ? rate.wideMessages : rate.messages
        let span = isWide ? rate.widePer : rate.per
        var (probes, coolDown, next) = (0, max(rate.coolDown, .milliseconds(1)), Duration.zero)
        while next + coolDown <= time {
            next += coolDown
            probes += 1
            coolDown = min(coolDown * 2, LoopRate.longestCoolDown)
        }
        self.probes = probes
        storm = messages + probes
        let spans = Self.whole(time, span)
        stormWithLoss = messages * (min(probes, spans) + 1) + probes * (1 + Self.mostHeld)
        anything = messages * (spans + 1) + (Self.whole(time, rate.coolDown + rate.per) + 1) * (1 + Self.mostHeld)
    }

    private static func whole(_ time: Duration, _ span: Duration) -> Int {
        span > .zero ? Int(min(time / span, 1e9)) : 1_000_000_000
    }
}
