/// How much more arrivals vary than by chance, while nothing is handled.
///
/// The number of messages that come by chance in a second has a variance of its mean. Of those that come in clusters,
/// it has several times as much, and a cluster behind a try looks as answers would. So the evidence of each stretch
/// counts the less, the more arrivals vary.
struct Dispersion {
    /// How many seconds are remembered.
    private static let memory = 120.0
    /// For how many seconds by chance it counts that nothing is known yet.
    private static let prior = 3.0
    /// The most that is believed: a slow loop's answers come in clusters, too (in the simulation, 32 let thirteen more
    /// of 270 loops exceed their bound, and helped clusters no more).
    private static let most = 6.0

    private var seconds = 0.0
    private var sum = 0.0
    private var squares = 0.0

    /// The variance of what comes in a second, divided by its mean, less what that may exceed by chance; from 1 to 6.
    private(set) var factor = 1.0

    /// Takes down how many came in each of some seconds in which nothing was handled.
    mutating func add(_ counts: [Int]) {
        for count in counts {
            if seconds >= Self.memory {
                let kept = 1 - 1 / Self.memory
                (seconds, sum, squares) = (seconds * kept, sum * kept, squares * kept)
            }
            seconds += 1
            sum += Double(count)
            squares += Double(count) * Double(count)
        }
        guard seconds > 1, sum > 0 else { return factor = 1 }
        let mean = sum / seconds
        let freedom = seconds - 1 + Self.prior
        let ratio = (squares / mean - sum + Self.prior) / freedom
        // By chance it has a variance of two in so many seconds.
        factor = min(max(ratio - 1.5 * (2 / freedom).squareRoot(), 1), Self.most)
    }
}
