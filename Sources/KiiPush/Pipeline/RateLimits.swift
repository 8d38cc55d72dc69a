/// How many messages a breaker lets pass in a window and in a longer one; in nanoseconds.
struct RateLimit {
    let messages: Int
    let span: Int64
    let slowMessages: Int
    let slowSpan: Int64
    /// How long it waits after the first loop.
    let coolDown: Int64
    /// Whether it was raised for one of many keys that share a stream.
    let isRaised: Bool

    fileprivate init(_ limit: LoopRate.Limit, slow: LoopRate.Limit? = nil, coolDown: Duration) {
        messages = limit.messages
        span = limit.window.inNanoseconds
        slowMessages = slow?.messages ?? limit.messages
        slowSpan = slow?.window.inNanoseconds ?? span
        self.coolDown = coolDown.inNanoseconds
        isRaised = false
    }

    private init(messages: Int, slowMessages: Int, like other: RateLimit) {
        self.messages = messages
        span = other.span
        self.slowMessages = slowMessages
        slowSpan = other.slowSpan
        coolDown = other.coolDown
        isRaised = true
    }

    /// The limit of one of many keys that share a stream which this device does not cause.
    ///
    /// It is the key's share, plus a margin for chance and half of the limit; unlimited for an infinite pace.
    func raised(by pace: Double) -> RateLimit {
        guard pace > 0 else { return self }
        let (fast, slow) = (Self.most(messages, span, pace), Self.most(slowMessages, slowSpan, pace))
        return RateLimit(messages: fast, slowMessages: slow, like: self)
    }

    private static func most(_ messages: Int, _ span: Int64, _ pace: Double) -> Int {
        guard pace < 1e6 else { return .max }
        let usual = pace * Double(span) / 1e9
        return max(messages, Int(usual + 4 * usual.squareRoot()) + messages / 2)
    }
}

/// The limits of a rate's breakers; made once, because converting a `Duration` takes a division.
package struct RateLimits {
    let narrow: RateLimit
    let wide: RateLimit
    let route: RateLimit
    let device: RateLimit

    init(_ rate: LoopRate) {
        narrow = RateLimit(
            LoopRate.Limit(messages: rate.messages, window: rate.window), slow: rate.sustained, coolDown: rate.coolDown)
        wide = RateLimit(rate.ofBucket, coolDown: rate.coolDown)
        route = RateLimit(rate.ofRoute, coolDown: rate.coolDown)
        device = RateLimit(rate.ofDevice, coolDown: rate.coolDown)
    }
}
