/// How often a breaker was wrong about its key lately: the more often, the longer it listens, watches and waits.
struct Doubts {
    /// How often a verdict was revised, within 15 minutes of each other; at most the longest listening time.
    private var count = 0
    private var latest: Int64 = .min
    /// How often trust was breached since it was last proven: arrivals followed handled messages, or exceeded the pace
    /// of unproven trust.
    private(set) var breaches = 0
    /// The share of its messages that belong to a loop; nil if no loop was found among honest messages.
    private(set) var loopShare: Double?

    private static let mostBreaches = 5

    /// How long to listen and watch now.
    var listening: Listening { Listening.byDoubts[count] }

    /// How long to wait before listening is believed, in nanoseconds; nil before the second breach.
    var wait: Int64? { breaches > 1 ? .seconds(30) << Int64(2 * (breaches - 2)) : nil }

    /// Records that a verdict was wrong.
    mutating func add(_ now: Int64) {
        count = min(count + 1, Listening.byDoubts.count - 1)
        latest = now
    }

    /// Records a breach of trust.
    mutating func addBreach() { breaches = min(breaches + 1, Self.mostBreaches) }

    /// Records that a loop was found among honest messages; it counts as two breaches, so that the key waits first.
    mutating func addLoop(share: Double) {
        loopShare = share
        breaches = max(breaches, 2)
    }

    /// Forgets that its loop is among honest messages: a try found a loop.
    mutating func forgetShare() { loopShare = nil }

    /// Forgets doubts of 15 minutes ago, and breaches of two hours ago.
    mutating func forgetOld(_ now: Int64) {
        guard latest != .min else { return }
        if now.since(latest) > .seconds(900) { count = 0 }
        if now.since(latest) > .seconds(7200) { (breaches, loopShare) = (0, nil) }
    }

    /// Forgets all of them: trust is proven.
    mutating func clear() { (count, breaches, loopShare) = (0, 0, nil) }
}
