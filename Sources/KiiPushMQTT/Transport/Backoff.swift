/// How long to wait before a link is made again: longer each time, until one has held for a while.
struct Backoff {
    private let first: Duration
    private let longest: Duration
    /// The last pause without its jitter; zero when the next one is the first.
    private var last = Duration.zero

    init(first: Duration, longest: Duration) {
        self.first = max(first, .milliseconds(1))
        self.longest = max(longest, self.first)
    }

    /// Whether a link has held for so long that the next pause is the first again.
    func isLong(_ held: Duration) -> Bool { held >= max(last * 4, first * 10) }

    /// The next pause, up to 20% longer or shorter than twice the last one.
    ///
    /// - Parameters:
    ///   - held: how long the link held that is gone; zero when there was none.
    ///   - random: a number from 0 up to 1.
    /// - Returns: the pause.
    mutating func next(afterLinkOf held: Duration, random: Double) -> Duration {
        // Two devices with one client id cut each other's link as often as they connect: that a link came up is no
        // success, only that it held for much longer than the pause before it.
        if isLong(held) { last = .zero }
        last = last == .zero ? first : min(last * 2, longest)
        return last * (0.8 + 0.4 * min(max(random, 0), 1))
    }
}
