/// How long a breaker listens and watches, in seconds.
struct Listening {
    let time: Double
    /// Arrivals in the first seconds of listening are skipped, because they may be answers to earlier handling.
    let skip: Double
    let watch: Double

    /// Longer, the more often the breaker was wrong about the key lately.
    static let byDoubts = [
        Listening(time: 4.5, skip: 1.5, watch: 1.8), Listening(time: 10, skip: 4, watch: 4),
        Listening(time: 16, skip: 5, watch: 8), Listening(time: 20, skip: 5, watch: 12),
        Listening(time: 24, skip: 8, watch: 16),
    ]
}
