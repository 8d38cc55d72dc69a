/// Short pauses of a key at random times, to see whether arrivals follow them.
///
/// If handling causes a part of the arrivals, fewer arrive a round trip after a pause began, and more after its end,
/// when the held messages are handled. The times of the pauses do not depend on the arrivals. So if handling causes
/// none, the sums below are zero on average, however regular or clustered the arrivals are.
struct PauseSeries {
    // All times are in bins of `TimeBins`, a quarter of a second.

    /// How long a pause is: a message that it holds is hardly noticed to be late.
    private static let pause = 3
    /// The time from one pause to the next.
    private static let intervals = 12...20
    /// The longest time without a message after which the pauses are weighed: the record must remember the oldest.
    private static let longestGap = Int64(TimeBins.bins) - 16 - longest

    /// The share of the arrivals that handling may cause.
    let share: Double
    private let pace: Double
    private var next: Int64
    private var random: UInt64
    /// When those pauses began that are not weighed yet: within a minute, so some twenty at most.
    private var begun: [Int64] = []
    /// How many pauses were weighed.
    private(set) var weighed = 0
    /// For each shape, the sum over the pauses of how well the arrivals fit it, and the sum of its squares.
    private var fits = [(sum: Double, squares: Double)](repeating: (0, 0), count: shapes.count)

    /// Begins a series in half a second, at a pace in messages a second, of which handling may cause a share.
    init(pace: Double, share: Double, _ now: Int64) {
        self.pace = max(pace, 0.1) * Double(TimeBins.bin) / 1e9
        self.share = share
        next = now / TimeBins.bin + 2
        random = UInt64(bitPattern: now)
    }

    /// When the current pause ends; nil if there is none.
    mutating func pause(at now: Int64) -> Int64? {
        let bin = now / TimeBins.bin
        if bin - next > Self.longestGap {
            // Nothing arrived meanwhile, which shows nothing, and the record does not remember more.
            begun = []
            next = bin + 2
        }
        while bin >= next + Int64(Self.pause) {
            begun.append(next)
            // The generator of Knuth's MMIX.
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            next += Int64(Self.intervals.lowerBound + Int(random >> 33) % Self.intervals.count)
        }
        return bin >= next ? (next + Int64(Self.pause)) * TimeBins.bin : nil
    }

    /// How much likelier it is that handling causes the share, or half of it, at the likeliest delay, than that it
    /// causes none; nil before the third pause, and if the last result still holds.
    mutating func weigh(_ record: ArrivalRecord, dispersion: Double, _ now: Int64) -> Double? {
        let before = weighed
        while let start = begun.first, now / TimeBins.bin > start + Self.longest {
            begun.removeFirst()
            weighed += 1
            for (index, shape) in Self.shapes.enumerated() {
                let fit = pace * shape.fit { record.arrived(in: start + $0) }
                fits[index].sum += fit
                fits[index].squares += fit * fit
            }
        }
        guard weighed > before, weighed >= 3 else { return nil }
        let usual = pace * dispersion
        return zip(Self.shapes, fits).reduce(-.infinity) { most, next in
            let (shape, fit) = next
            return max(most, evidence(shape, fit, share, usual), evidence(shape, fit, share / 2, usual))
        }
    }

    /// The evidence for a shape and a share; `usual` is the variance of the arrivals of a bin.
    private func evidence(
        _ shape: Shape, _ fit: (sum: Double, squares: Double), _ share: Double, _ usual: Double
    ) -> Double {
        let count = Double(weighed)
        let square = pace * pace * shape.square
        let expected = share * square
        // How much the fit varies between pauses counts: clusters vary more than chance.
        let unexplained = fit.squares - 2 * expected * fit.sum + expected * expected * count
        let variance = max(usual, unexplained / (count * square))
        return share * (fit.sum - expected * count / 2) / variance
    }

    // MARK: Delays

    /// From a handled message to the one that it causes: up to three seconds with three spreads each, and longer ones.
    private static let delays: [ClosedRange<Int>] = {
        let short = (0..<12).flatMap { low in [0, 1, 3].map { low...(low + $0) } }
        let long = [3.0, 4, 5, 6, 8, 10].flatMap { delay in [0.1, 0.5].map { TimeBins.delay(delay, spread: $0) } }
        return short + long
    }()
    private static let shapes = delays.map(Shape.init)
    private static let longest = Int64((delays.map(\.upperBound).max() ?? 0) + pause + 1)

    /// By how much arrivals deviate from the usual around a pause, in multiples of the pace, if each handled message
    /// causes one after a delay.
    private struct Shape {
        private let first: Int
        private var deviations: [Double]
        /// The sum of the squares.
        let square: Double

        init(_ delay: ClosedRange<Int>) {
            first = delay.lowerBound
            deviations = [Double](repeating: 0, count: delay.count + pause)
            let part = 1 / Double(delay.count)
            for offset in 0..<delay.count {
                for bin in 0..<pause { deviations[offset + bin] -= part }
                deviations[offset + pause] += part * Double(pause)
            }
            square = deviations.reduce(0) { $0 + $1 * $1 }
        }

        /// The product with the arrivals in each bin after the begin of a pause.
        func fit(_ arrived: (Int64) -> Int) -> Double {
            var sum = 0.0
            for (index, deviation) in deviations.enumerated() {
                sum += deviation * Double(arrived(Int64(first + index)))
            }
            return sum
        }
    }
}
