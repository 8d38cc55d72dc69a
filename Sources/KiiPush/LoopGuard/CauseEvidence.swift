/// The evidence for and against the hypothesis that handling a key's messages causes new ones.
///
/// Each stretch of time has a number of messages that were handled at its beginning, and of those that arrived in it.
/// If handling causes nothing, all stretches have the same pace of arrivals. If each handled message causes one, few of
/// which are lost, or several, as in a fleet, as many more arrive in the stretch after them. The evidence is the
/// logarithm of the likelihood ratio of these two cases, each with the paces that fit best.
struct CauseEvidence {
    struct Stretch {
        let handled: Int
        let arrived: Int
        let seconds: Double
    }

    private(set) var stretches: [Stretch]
    /// How much more arrivals vary than chance explains; see ``Dispersion``.
    let dispersion: Double

    /// Starts with the stretch in which nothing was handled.
    init(arrived: Int, seconds: Double, dispersion: Double) {
        stretches = [Stretch(handled: 0, arrived: arrived, seconds: seconds)]
        self.dispersion = dispersion
    }

    mutating func add(_ stretch: Stretch) { stretches.append(stretch) }

    /// The stretch in which nothing was handled.
    var idle: Stretch { stretches[0] }

    var arrived: Int { stretches.reduce(0) { $0 + $1.arrived } }
    var seconds: Double { max(stretches.reduce(0) { $0 + $1.seconds }, 0.1) }

    /// How many arrive in a second.
    var pace: Double { Double(arrived) / seconds }

    /// A pace that chance hardly exceeds.
    var highestPace: Double {
        let count = Double(arrived)
        return (count + 3 * (dispersion * count).squareRoot() + 3) / seconds
    }

    /// The penalty if only some of the messages cause one, as in a loop that also runs through other keys, or among
    /// honest messages; nil if that is not considered.
    var penaltyOfSome: Double?

    /// Positive if it is likelier that handling causes nothing.
    var logRatio: Double { likelihoodOfNone - max(likelihoodOfOne, likelihoodOfMany) }

    /// The logarithm of the chance that an answer is lost: one of twelve at most.
    private static let lost = -2.5

    private var likelihoodOfNone: Double {
        let pace = (Double(arrived) + 0.25) / seconds
        return stretches.reduce(0) { $0 + logChance($1.arrived, pace * $1.seconds) }
    }

    private var likelihoodOfOne: Double {
        let others = stretches.reduce(0) { $0 + max($1.arrived - $1.handled, 0) }
        let pace = (Double(others) + 0.25) / seconds
        return stretches.reduce(0) { sum, stretch in
            sum + logChance(max(stretch.arrived - stretch.handled, 0), pace * stretch.seconds)
                + Double(max(stretch.handled - stretch.arrived, 0)) * Self.lost
        }
    }

    private var likelihoodOfMany: Double {
        let pace = (Double(idle.arrived) + 0.25) / max(idle.seconds, 0.1)
        let tried = stretches.dropFirst()
        let handled = tried.reduce(0) { $0 + $1.handled }
        guard handled > 0 else { return -.infinity }
        let others = pace * tried.reduce(0) { $0 + $1.seconds }
        let each = (Double(tried.reduce(0) { $0 + $1.arrived }) - others) / Double(handled)
        // A penalty, because a free number of answers fits any data better than one answer each; a higher one if
        // messages cause fewer than 1.5 each, because a stream's pace varies.
        guard each > 0.25, let penalty = each > 1.5 ? 2 : penaltyOfSome else { return -.infinity }
        return stretches.reduce(-penalty) {
            $0 + logChance($1.arrived, pace * $1.seconds + each * Double($1.handled))
        }
    }

    /// The logarithm of the chance of `count` arrivals if `mean` are expected, up to a constant.
    private func logChance(_ count: Int, _ mean: Double) -> Double { logPoisson(count, mean) / dispersion }
}

/// The logarithm of the chance of `count` events if `mean` are expected.
private func logPoisson(_ count: Int, _ mean: Double) -> Double {
    let mean = max(mean, 1e-9)
    return Double(count) * naturalLogarithm(mean) - mean - logFactorial(count)
}

/// By Stirling's series; accurate to a ten-thousandth.
private func logFactorial(_ count: Int) -> Double {
    guard count > 1 else { return 0 }
    let number = Double(count)
    return number * naturalLogarithm(number) - number + 0.5 * naturalLogarithm(2 * .pi * number) + 1 / (12 * number)
}

/// Of a positive number; the Swift library has no logarithm, and the core uses no other library.
private func naturalLogarithm(_ number: Double) -> Double {
    let part = (number.significand - 1) / (number.significand + 1)
    let square = part * part
    var (term, sum) = (part, 0.0)
    for odd in stride(from: 1.0, through: 15, by: 2) {
        sum += term / odd
        term *= square
    }
    return Double(number.exponent) * 0.693_147_180_559_945_3 + 2 * sum
}
