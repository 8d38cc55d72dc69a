/// How much more arrivals vary than chance explains, while nothing is handled.
///
/// If messages arrive independently, the variance of their number in a second equals its mean. If they arrive in
/// clusters, it is several times as large, and a cluster after a try looks like answers. So the more arrivals vary, the
/// less the evidence of each stretch counts.
struct Dispersion {
    /// How many seconds are remembered.
    private static let memory = 120.0
    /// The weight of the prior, a variance equal to the mean, in seconds.
    private static let prior = 3.0
    /// The largest factor, because a slow loop's answers also come in clusters (in the simulation, 32 let thirteen more
    /// of 270 loops exceed their bound, and did not improve clusters).
    private static let most = 6.0

    private var seconds = 0.0
    private var sum = 0.0
    private var squares = 0.0

    /// The variance of arrivals in a second divided by their mean, less a margin for chance; from 1 to 6.
    private(set) var factor = 1.0

    /// Records how many arrived in each of several seconds in which nothing was handled.
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
        // By chance, the ratio has a variance of 2 divided by the degrees of freedom.
        factor = min(max(ratio - 1.5 * (2 / freedom).squareRoot(), 1), Self.most)
    }
}
