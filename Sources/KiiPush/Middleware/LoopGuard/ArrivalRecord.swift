/// What arrived of a key and what was handled of it lately, in bins of a quarter of a second.
///
/// Keeps the last 64 seconds, in one kilobyte. A bin counts up to 65,535 messages, and more as so many. What arrived
/// earlier than that, such as a message that an earlier process took in, is not counted.
struct ArrivalRecord {
    private static let bin: Int64 = 250_000_000
    private static let bins = 256

    private var arrived = [UInt16](repeating: 0, count: bins)
    private var handled = [UInt16](repeating: 0, count: bins)
    /// The number of the newest bin.
    private var last: Int64

    init(_ now: Int64) { last = now / Self.bin }

    mutating func addArrival(_ time: Int64, _ now: Int64) {
        advance(now)
        if let index = index(min(time, now)) { Self.increment(&arrived[index]) }
    }

    mutating func addHandled(_ now: Int64) {
        advance(now)
        if let index = index(now) { Self.increment(&handled[index]) }
    }

    /// How many arrived from the bin of `start` on, up to that of `end`, without it; and for how many seconds that is.
    func arrivals(from start: Int64, to end: Int64) -> (count: Int, seconds: Double) {
        let first = max(start / Self.bin, last - Int64(Self.bins) + 1), next = end / Self.bin
        guard first < next else { return (0, 0) }
        var count = 0
        // Nothing came since the newest bin: behind it lie the oldest ones.
        for number in first..<max(first, min(next, last + 1)) { count += Int(arrived[Self.place(number)]) }
        return (count, Double(next - first) / 4)
    }

    // MARK: Whether arrivals follow what was handled

    /// The delays that are tried: each from a tenth to a half earlier to as much later, in bins.
    private static let delays: [ClosedRange<Int>] = [1.0, 2, 3, 4, 5, 6, 8, 10].flatMap { delay in
        [0.1, 0.5].map { spread in
            let low = Int((delay * (1 - spread) * 4).rounded()), high = Int((delay * (1 + spread) * 4).rounded())
            return max(low, 0)...max(high, 1)
        }
    }

    /// How much likelier it is that arrivals follow what was handled, at the likeliest delay, than that they do not.
    ///
    /// What is handled usually follows what arrives, so only the difference counts: a pause, and the messages that go
    /// together after it. If handling causes arrivals, they show the same pause a round trip later.
    func following(since start: Int64, _ now: Int64) -> Double {
        let first = max(start / Self.bin, last - Int64(Self.bins) + 1)
        let count = Int(now / Self.bin - first)
        guard count > 16 else { return 0 }
        var arrivals = [Double](repeating: 0, count: count)
        // How many more were handled than arrived, up to each bin.
        var excess = [Double](repeating: 0, count: count + 1)
        var sum = 0.0
        for index in 0..<count {
            let number = first + Int64(index)
            let (came, went) = number > last ? (0, 0) : (arrived[Self.place(number)], handled[Self.place(number)])
            arrivals[index] = Double(came)
            sum += arrivals[index]
            excess[index + 1] = excess[index] + Double(went) - arrivals[index]
        }
        let mean = sum / Double(count)
        var evidence = -Double.infinity
        for delay in Self.delays {
            let width = Double(delay.count)
            var (covariance, square, squares) = (0.0, 0.0, 0.0)
            for index in 0..<count {
                let low = max(0, index - delay.upperBound), high = index - delay.lowerBound + 1
                guard high > low else { continue }
                let expected = (excess[high] - excess[low]) / width
                covariance += (arrivals[index] - mean) * expected
                square += expected * expected
            }
            for arrival in arrivals { squares += (arrival - mean) * (arrival - mean) }
            // What comes in bursts varies more than by chance; what the delay explains is no such variation.
            let unexplained = (squares - 2 * covariance + square) / Double(count)
            let variance = max(mean, unexplained, 0.025)
            evidence = max(evidence, (covariance - square / 2) / variance)
        }
        return evidence
    }

    // MARK: Bins

    private static func place(_ number: Int64) -> Int { Int(truncatingIfNeeded: number) & (bins - 1) }

    private static func increment(_ bin: inout UInt16) { if bin < .max { bin += 1 } }

    private func index(_ time: Int64) -> Int? {
        let number = time / Self.bin
        return number > last - Int64(Self.bins) && number <= last ? Self.place(number) : nil
    }

    private mutating func advance(_ now: Int64) {
        let number = now / Self.bin
        guard number > last else { return }
        // Beyond all bins, each is emptied once.
        for next in max(last + 1, number - Int64(Self.bins) + 1)...number {
            arrived[Self.place(next)] = 0
            handled[Self.place(next)] = 0
        }
        last = number
    }
}
