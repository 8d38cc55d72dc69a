// When messages come that no handler caused: for an hour, or 100,000 of them.

/// A name and its times.
typealias Times = (name: String, times: [Double])

private let (hour, most) = (3600.0, 100_000.0)

func evenly(_ rate: Double, for seconds: Double) -> [Double] { (0..<Int(rate * seconds)).map { Double($0) / rate } }

func atRandom(_ rate: Double, from: Double = 0, for seconds: Double, _ dice: inout Dice) -> [Double] {
    var (time, times) = (from + dice.pause(rate), [Double]())
    while time < from + seconds {
        times.append(time)
        time += dice.pause(rate)
    }
    return times
}

func cluster(_ count: Int, at time: Double, within seconds: Double, _ dice: inout Dice) -> [Double] {
    (0..<count).map { _ in time + dice.between(0, seconds) }
}

/// The patterns of honest traffic.
enum Traffic {
    case steady, changing, growing, usual, once, atOnce, manyAtFirst, wakeUps, drawn, byChance

    func times(_ dice: inout Dice) -> Times {
        let (name, times) =
            switch self {
            case .steady: Self.steady(&dice)
            case .changing: ("changing paces", Self.changing(&dice))
            case .growing: Self.growing(&dice)
            case .usual: Self.usual(&dice)
            case .once: ("20 to 60 once", cluster(Int(dice.between(20, 61)), at: 0, within: dice.between(1, 20), &dice))
            case .atOnce:
                ("many at once", cluster(Int(dice.between(900, 1900)), at: 0, within: dice.between(0, 10), &dice))
            case .manyAtFirst: ("400 at once, then 1/s", cluster(400, at: 0, within: 0, &dice) + Self.one(&dice))
            case .wakeUps: ("wake-ups", Self.repeated(4 * hour, 10, 200, 0, &dice) { $0.scale(60, 1800) })
            case .drawn: Self.drawn(&dice)
            case .byChance: Self.byChance(&dice)
            }
        return (name, Array(times.sorted().prefix(Int(most))))
    }

    private static func steady(_ dice: inout Dice) -> Times {
        let rate = dice.chance(0.5) ? dice.scale(0.1, 200) : dice.pick(0.1, 0.5, 1, 2, 3, 5, 10, 50, 200)
        let seconds = min(hour, most / rate)
        return dice.chance(0.3)
            ? ("\(rate.shown)/s", evenly(rate, for: seconds))
            : ("\(rate.shown)/s by chance", atRandom(rate, for: seconds, &dice))
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

    /// From one in ten seconds to 200 a second, and at times back.
    private static func growing(_ dice: inout Dice) -> Times {
        let (seconds, isBack) = (dice.scale(60, hour), dice.chance(0.3))
        var (time, times) = (0.0, [Double]())
        while time < seconds {
            times.append(time)
            let part = isBack ? 1 - abs(1 - 2 * time / seconds) : time / seconds
            time += dice.pause(Dice.scale(0.1, 200, at: part))
        }
        return ("growing for \(seconds.shown) s\(isBack ? ", and back" : "")", times)
    }

    private static func one(_ dice: inout Dice) -> [Double] {
        dice.chance(0.5) ? evenly(1, for: hour / 2) : atRandom(1, for: hour / 2, &dice)
    }

    private static func usual(_ dice: inout Dice) -> Times {
        let (count, within, pause) = dice.pick(
            (3, 3, 6.0), (3, 3, 15), (10, 1, 15), (20, 0, 20), (25, 1, 5), (25, 5, 5), (40, 0, 40), (40, 3, 40),
            (100, 2, 60), (100, 0, 60))
        return each(count, within, pause, &dice)
    }

    private static func drawn(_ dice: inout Dice) -> Times {
        let count = Int(dice.between(3, 101))
        // Those that leave no quiet time are the worst.
        let pause = dice.chance(0.5) ? dice.between(4, 22) : dice.scale(max(1, Double(count) / 10), 90)
        return each(count, dice.pick(0, 1, 3, 5), pause, &dice)
    }

    private static func each(_ count: Int, _ within: Int, _ pause: Double, _ dice: inout Dice) -> Times {
        let start = dice.between(0, pause)
        let times = (0..<Int(hour / pause)).flatMap {
            cluster(count, at: start + Double($0) * pause, within: Double(within), &dice)
        }
        return ("\(count) within \(within) s each \(pause.shown) s", times)
    }

    private static func byChance(_ dice: inout Dice) -> Times {
        let (mean, largest) = (dice.between(5, 60), Int(dice.between(3, 101)))
        return ("3 to \(largest) by chance", repeated(hour, 3, largest, 5, &dice) { $0.pause(1 / mean) })
    }

    private static func repeated(
        _ end: Double, _ least: Int, _ most: Int, _ within: Double, _ dice: inout Dice, _ pause: (inout Dice) -> Double
    ) -> [Double] {
        var (time, times) = (0.0, [Double]())
        while time < end {
            let count = Int(dice.between(Double(least), Double(most + 1)))
            times += cluster(count, at: time, within: dice.between(0, within), &dice)
            time += pause(&dice)
        }
        return times
    }
}
