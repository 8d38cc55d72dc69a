import Glibc

// When messages come that no handler caused: for an hour, or 20,000 of them.

/// A name and its times.
typealias Times = (name: String, times: [Double])

private let (hour, most) = (3600.0, 20_000)

private func cut(_ name: String, _ times: [Double]) -> Times { (name, Array(times.sorted().prefix(most))) }

func evenly(_ rate: Double, for seconds: Double) -> [Double] {
    (0..<Int(rate * seconds)).map { Double($0) / rate }
}

func atRandom(_ rate: Double, from: Double = 0, for seconds: Double, _ dice: inout Dice) -> [Double] {
    var (time, times) = (from + dice.pause(rate), [Double]())
    while time < from + seconds {
        times.append(time)
        time += dice.pause(rate)
    }
    return times
}

private func cluster(_ count: Int, at time: Double, within seconds: Double, _ dice: inout Dice) -> [Double] {
    (0..<count).map { _ in time + dice.between(0, seconds) }
}

private func wholeNumber(_ least: Int, _ most: Int, _ dice: inout Dice) -> Int {
    least + Int(dice.unit() * Double(most - least + 1))
}

/// Messages that come one by one.
enum Stream: CaseIterable {
    case regular, byChance, usual, usualByChance, changing, growing

    func times(_ dice: inout Dice) -> Times {
        switch self {
        case .regular, .byChance: steady(dice.scale(0.1, 200), isByChance: self == .byChance, &dice)
        case .usual, .usualByChance:
            steady(dice.pick(0.1, 0.5, 1, 2, 3, 5, 10, 50, 200), isByChance: self == .usualByChance, &dice)
        case .changing: cut("changing paces", Self.changing(&dice))
        case .growing: cut("growing to 200/s", Self.growing(&dice))
        }
    }

    private func steady(_ rate: Double, isByChance: Bool, _ dice: inout Dice) -> Times {
        let (seconds, shown) = (min(hour, Double(most) / rate), "\((rate * 100).rounded() / 100)/s")
        return isByChance
            ? cut(shown + " by chance", atRandom(rate, for: seconds, &dice))
            : cut(shown, evenly(rate, for: seconds))
    }

    private static func changing(_ dice: inout Dice) -> [Double] {
        var (from, times) = (0.0, [Double]())
        while from < hour {
            let seconds = dice.scale(2, 300)
            times += atRandom(dice.scale(0.1, 50), from: from, for: seconds, &dice)
            from += seconds + (dice.chance(0.3) ? dice.scale(1, 600) : 0)
        }
        return times
    }

    private static func growing(_ dice: inout Dice) -> [Double] {
        let (first, isRegular) = (dice.scale(0.1, 2), dice.chance(0.5))
        var (time, times) = (0.0, [Double]())
        while case let rate = first * pow(2, time / 100), rate <= 200 {
            time += isRegular ? 1 / rate : dice.pause(rate)
            times.append(time)
        }
        return times
    }
}

/// Messages that come together.
enum Clusters: CaseIterable {
    case regular, usual, once, manyAtFirst, wakeUps, byChance

    func times(_ dice: inout Dice) -> Times {
        switch self {
        case .regular:
            let count = wholeNumber(3, 100, &dice)
            return each(count, dice.pick(0, 1, 3, 5), dice.scale(Double(count) / 10, 90), &dice)
        case .usual:
            let (count, within, pause) = dice.pick(
                (3, 3, 6), (3, 3, 15), (10, 1, 15), (20, 0, 20), (25, 1, 5), (25, 5, 5), (40, 0, 40), (40, 3, 40),
                (100, 2, 60), (100, 0, 60))
            return each(count, Double(within), Double(pause), &dice)
        case .once:
            let (count, within) = (wholeNumber(20, 60, &dice), dice.between(1, 20))
            return cut("\(count) within \(Int(within)) s", cluster(count, at: 0, within: within, &dice))
        case .manyAtFirst:
            let after = dice.chance(0.5) ? evenly(1, for: hour / 2) : []
            let behind = after.isEmpty ? atRandom(1, for: hour / 2, &dice) : after
            return cut("400 at once, then 1/s", [Double](repeating: 0, count: 400) + behind)
        case .wakeUps:
            return cut("wake-ups", Self.repeated(&dice, 4 * hour, pause: { $0.scale(60, 1800) }, most: 200, within: 0))
        case .byChance:
            let (mean, largest) = (dice.between(5, 60), wholeNumber(3, 100, &dice))
            let times = Self.repeated(&dice, hour, pause: { $0.pause(1 / mean) }, most: largest, within: 5)
            return cut("3 to \(largest) each \(Int(mean)) s on average", times)
        }
    }

    private func each(_ count: Int, _ within: Double, _ pause: Double, _ dice: inout Dice) -> Times {
        let start = dice.between(0, pause)
        let times = (0..<Int(hour / pause)).flatMap {
            cluster(count, at: start + Double($0) * pause, within: within, &dice)
        }
        return cut("\(count) within \(Int(within)) s each \(Int(pause)) s", times)
    }

    private static func repeated(
        _ dice: inout Dice, _ end: Double, pause: (inout Dice) -> Double, most: Int, within: Double
    ) -> [Double] {
        var (time, times) = (0.0, [Double]())
        while time < end {
            let count = wholeNumber(within == 0 ? 10 : 3, most, &dice)
            times += cluster(count, at: time, within: within == 0 ? 0 : dice.between(0, within), &dice)
            time += pause(&dice)
        }
        return times
    }
}
