/// For how long a breaker listens and watches, in seconds.
struct Listening {
    let time: Double
    /// What comes in the first seconds of listening may be answers to what was handled before.
    let skip: Double
    let watch: Double

    /// The more often it was wrong about the key lately, the longer.
    static let byDoubts = [
        Listening(time: 4.5, skip: 1.5, watch: 1.8), Listening(time: 10, skip: 4, watch: 4),
        Listening(time: 16, skip: 5, watch: 8), Listening(time: 20, skip: 5, watch: 12),
        Listening(time: 24, skip: 8, watch: 16),
    ]
}
