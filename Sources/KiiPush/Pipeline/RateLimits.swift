/// How many messages a breaker lets pass: so many in a span, and so many in a longer one; in nanoseconds.
struct RateLimit {
    let messages: Int
    let span: Int64
    let slowMessages: Int
    let slowSpan: Int64
    /// How long it waits after the first loop.
    let coolDown: Int64

    fileprivate init(_ limit: LoopRate.Limit, slow: LoopRate.Limit? = nil, coolDown: Duration) {
        messages = limit.messages
        span = limit.window.inNanoseconds
        slowMessages = slow?.messages ?? limit.messages
        slowSpan = slow?.window.inNanoseconds ?? span
        self.coolDown = coolDown.inNanoseconds
    }
}

/// The limits of a rate's breakers; made once, since a `Duration` is divided to be one number.
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
