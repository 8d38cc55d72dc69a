/// How long a breaker listens and watches, in seconds.
struct Listening {
    let time: Double
    /// Arrivals in the first seconds of listening are skipped, because they may be answers to earlier handling.
    let skip: Double
    let watch: Double

    /// For how many held messages of a slow stream it listens on, and the fewest that its first tries take.
    static let fewestOfSlow = 6
    /// The longest that it listens for them, so that the first of them is less than eight seconds late.
    static let longestOfSlow = 7.5

    /// Longer, the more often the breaker was wrong about the key lately.
    static let byDoubts = [
        Listening(time: 4.5, skip: 1.5, watch: 1.8), Listening(time: 10, skip: 4, watch: 4),
        Listening(time: 16, skip: 5, watch: 8), Listening(time: 20, skip: 5, watch: 12),
        Listening(time: 24, skip: 8, watch: 16),
    ]
}
