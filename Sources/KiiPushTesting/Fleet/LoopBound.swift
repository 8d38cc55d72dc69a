public import KiiPush

/// How many messages of one loop a device handles at most, worked out from the settings of its loop guard.
///
/// The rate layer needs nothing of a handler and nothing of a payload, so what it lets through is what any loop can do:
///
/// - Until its breaker opens, ``LoopRate/messages`` pass (of a bucket in which each message is about another object,
///   ``LoopRate/wideMessages``).
/// - Then one probe a cool-down, which doubles from ``LoopRate/coolDown`` up to an hour: ``probes``.
/// - A probe whose echo is lost, or comes later than ``LoopRate/per``, looks like the end of the loop: what was held
///   follows, at most 100 messages, and the breaker counts anew.
///
/// A loop that is slower than the rate opens no breaker: ``pace`` is what it can do at most.
public struct LoopBound: Sendable, Hashable {
    /// How many probes fit into the time.
    public let probes: Int
    /// For a loop over one object, topic and sender, on a network that loses nothing and needs less than ``LoopRate/per``.
    public let messages: Int
    /// The same on a network that loses messages, with clocks that jump.
    public let messagesWithLoss: Int
    /// For a loop that makes a new object each time, on a network that loses nothing.
    public let wideMessages: Int
    /// The same on a network that loses messages, with clocks that jump.
    public let wideMessagesWithLoss: Int
    /// How many messages a second a loop can have handled for ever without opening a breaker.
    public let pace: Double

    /// How many messages of one key are held at most, and follow at once when the loop seems to have ended.
    public static let mostHeld = 100

    /// Works out the bound.
    ///
    /// - Parameters:
    ///   - rate: the rate of the guard, or of the route.
    ///   - time: for how long the loop goes on.
    public init(_ rate: LoopRate = .standard, in time: Duration) {
        var (probes, coolDown, next) = (0, max(rate.coolDown, .milliseconds(1)), Duration.zero)
        while next + coolDown <= time {
            next += coolDown
            probes += 1
            coolDown = min(coolDown * 2, LoopRate.longestCoolDown)
        }
        self.probes = probes
        messages = rate.messages + probes
        messagesWithLoss =
            rate.messages * (min(probes, Self.periods(of: rate.per, in: time)) + 1) + probes * (1 + Self.mostHeld)
        wideMessages = rate.wideMessages + probes
        wideMessagesWithLoss =
            rate.wideMessages * (min(probes, Self.periods(of: rate.widePer, in: time)) + 1) + probes
            * (1 + Self.mostHeld)
        pace = Double(rate.messages) / max(rate.per / .seconds(1), .leastNonzeroMagnitude)
    }

    private static func periods(of span: Duration, in time: Duration) -> Int {
        span > .zero ? Int(clamping: Int64(time / span)) : .max
    }
}
