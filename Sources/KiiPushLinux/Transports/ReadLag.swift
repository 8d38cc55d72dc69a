/// Whether a transport is behind: whether its source has had more ready each time for a quarter of a second, or has
/// lately sent all that it may before it is answered.
///
/// Then what is read may have been sent long before; see `RawPayload.hasWaited`.
package struct ReadLag {
    /// For how long a source must have nothing ready, to be empty: a sender who waits for room writes on sooner.
    private static let shortestPause = Duration.milliseconds(1)
    /// For how long there must have been no such pause.
    private static let limit = Duration.milliseconds(250)
    /// For how long it counts that a window was full: until the source's next messages are here.
    private static let windowLimit = Duration.seconds(1)

    private var emptySince: ContinuousClock.Instant?
    private var lastEmpty: ContinuousClock.Instant
    /// How many were read since the source was empty, and when they filled its window last.
    private var read = 0
    private var lastFull: ContinuousClock.Instant?

    /// Begins with a source that is empty.
    package init(_ now: ContinuousClock.Instant = .now) { lastEmpty = now }

    /// Takes down that a poll waited from `start` to `end` for the source, and whether there is something to read.
    package mutating func polled(_ start: ContinuousClock.Instant, _ end: ContinuousClock.Instant, isReady: Bool) {
        let wasEmpty = !isReady || end - start >= Self.shortestPause
        if emptySince == nil, wasEmpty { emptySince = start }
        if let start = emptySince, end - start >= Self.shortestPause { (lastEmpty, read) = (end, 0) }
        if isReady { emptySince = nil }
    }

    /// Takes down that nothing is read, since there is no room for it.
    package mutating func stopped() { emptySince = nil }

    /// Takes down that messages were read of a source that sends no more than `window` before they are acknowledged.
    package mutating func read(_ messages: Int, window: Int, _ now: ContinuousClock.Instant) {
        read += messages
        if read >= window { lastFull = now }
    }

    /// Whether what is read now may have waited.
    package func isBehind(_ now: ContinuousClock.Instant) -> Bool {
        now - lastEmpty > Self.limit || lastFull.map { now - $0 < Self.windowLimit } ?? false
    }
}
