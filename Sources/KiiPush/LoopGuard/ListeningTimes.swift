/// For how long a breaker listens and watches, in seconds.
struct ListeningTimes {
    /// How long it listens.
    let time: Double
    /// What comes in the first so many of these may be answers to what was handled before.
    let skip: Double
    /// How long it watches after a try.
    let watch: Double

    private init(_ time: Double, skip: Double, watch: Double) {
        (self.time, self.skip, self.watch) = (time, skip, watch)
    }

    /// By how often the breaker was wrong about its key lately.
    static let byDoubts = [
        ListeningTimes(4.5, skip: 1.5, watch: 1.8), ListeningTimes(10, skip: 4, watch: 4),
        ListeningTimes(16, skip: 5, watch: 8), ListeningTimes(20, skip: 5, watch: 12),
        ListeningTimes(24, skip: 8, watch: 16),
    ]
}
