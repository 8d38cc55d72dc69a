/// Whether a transport is behind: its source has always had more ready for a quarter of a second, or has recently
/// filled its window of unacknowledged messages.
///
/// A message that is read then may have been sent long before; see `RawPayload.hasWaited`.
package struct ReadLag {
    /// How long a source must have nothing ready to count as empty: a sender that waits for space continues sooner.
    private static let shortestPause = Duration.milliseconds(1)
    /// How long there must have been no such pause.
    private static let limit = Duration.milliseconds(250)
    /// How long a full window counts: until the source's next messages have arrived.
    private static let windowLimit = Duration.seconds(1)

    private var emptySince: ContinuousClock.Instant?
    private var lastEmpty: ContinuousClock.Instant
    /// How many messages were read since the source was empty, and when they last filled its window.
    private var read = 0
    private var lastFull: ContinuousClock.Instant?

    /// Starts with an empty source.
    package init(_ now: ContinuousClock.Instant = .now) { lastEmpty = now }

    /// Records that a poll waited for the source from `start` to `end`, and whether there is something to read.
    package mutating func polled(_ start: ContinuousClock.Instant, _ end: ContinuousClock.Instant, isReady: Bool) {
        let wasEmpty = !isReady || end - start >= Self.shortestPause
        if emptySince == nil, wasEmpty { emptySince = start }
        if let start = emptySince, end - start >= Self.shortestPause { (lastEmpty, read) = (end, 0) }
        if isReady { emptySince = nil }
    }

    /// Records that reading has stopped for lack of capacity.
    package mutating func stopped() { emptySince = nil }

    /// Records messages from a source that sends at most `window` before they are acknowledged.
    package mutating func read(_ messages: Int, window: Int, _ now: ContinuousClock.Instant) {
        read += messages
        if read >= window { lastFull = now }
    }

    /// Whether a message that is read now may have waited.
    package func isBehind(_ now: ContinuousClock.Instant) -> Bool {
        now - lastEmpty > Self.limit || lastFull.map { now - $0 < Self.windowLimit } ?? false
    }
}
