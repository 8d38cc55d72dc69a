/// The arrivals of a key and its handled messages within the last 64 seconds, in one kilobyte.
struct ArrivalRecord {
    private var arrived: TimeBins
    private var handled: TimeBins

    init(_ now: Int64) { (arrived, handled) = (TimeBins(now), TimeBins(now)) }

    mutating func addArrival(_ time: Int64, _ now: Int64) { arrived.add(time, now) }

    mutating func addHandled(_ now: Int64) { handled.add(now) }

    /// How many arrived in a bin.
    func arrived(in bin: Int64) -> Int { arrived[bin] }

    /// How many arrived from the bin of `start` up to that of `end`, exclusive, and in how many seconds.
    func arrivals(from start: Int64, to end: Int64) -> (count: Int, seconds: Double) {
        arrived.count(from: start, to: end)
    }

    /// How many arrived in each half of the time from `start` to now.
    func halves(
        since start: Int64, _ now: Int64
    ) -> (first: (count: Int, seconds: Double), second: (count: Int, seconds: Double)) {
        let middle = start &+ now.since(start) / 2
        return (arrivals(from: start, to: middle), arrivals(from: middle, to: now))
    }

    /// How many arrived in each whole second from `start` to now.
    func arrivalsOfSeconds(since start: Int64, _ now: Int64) -> [Int] {
        let first = arrived.first(since: start), end = now / TimeBins.bin
        return stride(from: first, through: end - 4, by: 4).map {
            arrivals(from: $0 * TimeBins.bin, to: ($0 + 4) * TimeBins.bin).count
        }
    }

    // MARK: Whether arrivals follow what was handled

    /// The delays that are tried, in bins: each with a spread of a tenth and of a half.
    private static let delays: [ClosedRange<Int>] = [1.0, 2, 3, 4, 5, 6, 8, 10].flatMap { delay in
        [0.1, 0.5].map { TimeBins.delay(delay, spread: $0) }
    }

    /// Four seconds, in bins.
    private static let block = 16

    /// How much likelier it is that arrivals follow handled messages, at the likeliest delay, than that they do not.
    ///
    /// Handling usually follows arrivals, so only the difference counts: a pause, and the batch that is handled after
    /// it. If handling causes arrivals, they show the same pause a round trip later.
    func following(since start: Int64, _ now: Int64, dispersion: Double) -> Double {
        // From the later of the two, because a record without recent additions has older bins.
        let first = max(arrived.first(since: start), handled.first(since: start))
        let count = Int(now / TimeBins.bin - first)
        guard count > 16 else { return 0 }
        var arrivals = [Double](repeating: 0, count: count)
        // How many more messages were handled than arrived, up to each bin.
        var excess = [Double](repeating: 0, count: count + 1)
        var sum = 0.0
        for index in 0..<count {
            let number = first + Int64(index)
            arrivals[index] = Double(arrived[number])
            sum += arrivals[index]
            excess[index + 1] = excess[index] + Double(handled[number]) - arrivals[index]
        }
        let mean = sum / Double(count)
        var evidence = -Double.infinity
        for delay in Self.delays {
            let width = Double(delay.count)
            // Bursts vary more than chance, and clusters also vary between blocks of four seconds; variation that the
            // delay explains does not count.
            var (covariance, square, squares, block, blocks) = (0.0, 0.0, 0.0, 0.0, 0.0)
            for index in 0..<count {
                let low = max(0, index - delay.upperBound), high = max(low, index - delay.lowerBound + 1)
                let expected = (excess[high] - excess[low]) / width
                let deviation = arrivals[index] - mean
                covariance += deviation * expected
                square += expected * expected
                squares += (deviation - expected) * (deviation - expected)
                block += deviation - expected
                guard (index + 1) % Self.block == 0 else { continue }
                blocks += block * block
                block = 0
            }
            let ofBlocks = dispersion > 1 ? blocks / Double(count / Self.block * Self.block) : 0
            let unexplained = max(squares / Double(count), ofBlocks)
            let variance = max(mean * dispersion, unexplained, 0.025)
            evidence = max(evidence, (covariance - square / 2) / variance)
        }
        return evidence
    }
}
