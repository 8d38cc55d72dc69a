/// The pauses before reconnecting: longer each time, until a connection has lasted for a while.
struct Backoff {
    private let first: Duration
    private let longest: Duration
    /// The last pause without its jitter; zero if the next one is the first.
    private var last = Duration.zero

    init(first: Duration, longest: Duration) {
        self.first = max(first, .milliseconds(1))
        self.longest = max(longest, self.first)
    }

    /// Whether a connection has lasted so long that the pauses start again.
    func isLong(_ held: Duration) -> Bool { held >= max(last * 4, first * 10) }

    /// The next pause, up to 20% longer or shorter than twice the last one; `random` is from 0 up to 1.
    mutating func next(afterLinkOf held: Duration, random: Double) -> Duration {
        // Two devices with the same client id disconnect each other whenever they connect: only a connection that lasts
        // much longer than the pause before it counts as a success.
        if isLong(held) { last = .zero }
        last = last == .zero ? first : min(last * 2, longest)
        return last * (0.8 + 0.4 * min(max(random, 0), 1))
    }
}
