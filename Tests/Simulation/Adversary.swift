import KiiPush
import KiiPushTesting

/// What a loop changes from message to message.
enum LoopChange: String, CaseIterable {
    /// Nothing: each message is about the same object.
    case nothing = "nothing"
    /// The bucket, of two; the object's id stays.
    case twoBuckets = "two buckets"
    case object
    case sender
    case topic
    case bucket
    case scope
    /// The route, of eight, and the scope.
    case route
    /// Now this, now that.
    case mixed

    /// Which breaker bounds it.
    var shape: LoopBound.Shape {
        switch self {
        case .nothing, .twoBuckets: .object
        case .object, .sender: .bucket
        case .topic, .bucket, .scope: .route
        case .route, .mixed: .device
        }
    }
}

/// A loop that somebody has tuned to get as many messages handled as it can.
struct Adversary {
    var change = LoopChange.nothing
    var devices = 1
    /// How many writes each handled message causes.
    var fanOut = 1
    /// How long a write takes to come back, in milliseconds; and by which fraction that varies.
    var roundTrip = 500
    var jitter = 0.1
    /// How many messages it begins with, and within how many milliseconds they are written.
    var tokens = 1
    var spread = 0
    /// For how many milliseconds a handler's write waits after the handler has ended.
    var wait = 0
    /// Whether writes wait for the next whole `wait`, and go together, and not each for so long.
    var isBursty = false
    /// How many messages a second come from outside all the while.
    var honestPace = 0.0
    /// Whether handlers answer these too.
    var answersHonest = false
    /// For how many milliseconds these come alone before the loop begins, so that their key is trusted.
    var head = 0
    var loss = 0.0
    /// Whether all layers are on, and not only the rate.
    var hasAllLayers = false
    var care = Care.none

    /// What handlers do against loops.
    enum Care: String, CaseIterable {
        case none
        /// They announce their writes, but stamp nothing.
        case announces
        /// They patch one field, and leave the rest of the object as it is.
        case patches
        /// They write, and then fail.
        case fails
    }

    /// The slowest class of round trips that it belongs to.
    var isSlow: Bool { roundTrip + wait > 1000 }

    /// By how much each generation outnumbers the one before where nothing is held.
    var growth: Double { Double(devices * fanOut) * (1 - loss) }

    /// What a device may handle of it in the first hour.
    var bound: Int {
        guard isSlow else { return change == .nothing ? 40 : 2100 }
        // Its own pace, where that is slower than 20 in 10 s; writes that wait for each whole `wait` take whole ones.
        let round = isBursty && wait > 0 ? (roundTrip / wait + 1) * wait : roundTrip + wait
        let pace = Double(tokens) * 1000 / Double(round)
        return growth <= 1 && pace < 2 ? max(1000, Int(pace * 3600 * 1.05) + tokens) : 1000
    }

    /// About how many deliveries a run takes.
    var cost: Int {
        let handled =
            switch change.shape {
            case .object: 40
            case .bucket: 250
            case .route: 450
            case .device: 850
            }
        return devices * devices * (fanOut * handled + tokens) + Int(honestPace * Double(3600 + head / 1000)) * devices
    }
}

// MARK: Choosing

extension Adversary {
    /// That of a seed: any parameters at all, but no dearer than `mostCost`.
    init(seed: UInt64, mostCost: Int) {
        var random = SeededGenerator(seed: seed &* 0x9E37_79B9 &+ 17)
        // Each in its turn, so that few seeds have all.
        change = LoopChange.allCases[Int(seed % UInt64(LoopChange.allCases.count))]
        repeat {
            for parameter in Parameter.allCases { choose(parameter, &random) }
        } while cost > mostCost
    }

    /// The same with some parameters chosen anew or moved a little.
    func mutated(seed: UInt64, mostCost: Int) -> Adversary {
        var random = SeededGenerator(seed: seed)
        while true {
            var other = self
            for _ in 0...Int(random.next() % 3) {
                let parameter = Parameter.allCases[Int(random.next() % UInt64(Parameter.allCases.count))]
                if random.happens(0.5) { other.choose(parameter, &random) } else { other.move(parameter, &random) }
            }
            if other.cost <= mostCost { return other }
        }
    }

    private enum Parameter: CaseIterable {
        case devices, fanOut, time, jitter, tokens, spread, wait, honest, loss, layers, head
    }

    private mutating func choose(_ parameter: Parameter, _ random: inout SeededGenerator) {
        switch parameter {
        case .devices: devices = random.happens(0.4) ? 1 : Int(random.logarithmic(1, 100).rounded())
        case .fanOut: fanOut = random.happens(0.6) ? 1 : 2 + Int(random.next() % 2)
        case .time: roundTrip = Int(random.logarithmic(50, 10_000))
        case .jitter: jitter = 0.05 + 0.45 * random.fraction()
        case .tokens: tokens = Int(random.logarithmic(1, 200).rounded())
        case .spread: spread = random.happens(0.6) ? 0 : Int(random.logarithmic(100, 60_000))
        case .wait:
            wait = random.happens(0.6) ? 0 : Int(random.logarithmic(50, 9000))
            isBursty = random.happens(0.5)
        case .honest:
            honestPace = random.happens(0.6) ? 0 : random.logarithmic(0.02, 2)
            answersHonest = random.happens(0.3)
        case .loss: loss = random.happens(0.7) ? 0 : 0.2 * random.fraction()
        case .layers:
            hasAllLayers = random.happens(0.3)
            let cares: [Care] = hasAllLayers ? Care.allCases : [.none, .none, .fails]
            care = cares[Int(random.next() % UInt64(cares.count))]
        case .head:
            head = random.happens(0.7) ? 0 : Int(random.logarithmic(10_000, 600_000))
            if head > 0 { (honestPace, answersHonest) = (random.logarithmic(0.5, 4), false) }
        }
        limit()
    }

    private mutating func move(_ parameter: Parameter, _ random: inout SeededGenerator) {
        let factor = random.logarithmic(0.7, 1.4)
        func moved(_ value: Int, _ range: ClosedRange<Int>) -> Int {
            min(max(Int((Double(value) * factor).rounded()), range.lowerBound), range.upperBound)
        }
        switch parameter {
        case .devices: devices = moved(devices, 1...100)
        case .time: roundTrip = moved(roundTrip, 50...10_000)
        case .tokens: tokens = moved(tokens, 1...200)
        case .spread: spread = moved(spread, 0...60_000)
        case .wait: wait = moved(wait, 0...9000)
        case .jitter: jitter = min(max(jitter * factor, 0.05), 0.5)
        case .honest: honestPace = min(honestPace * factor, head > 0 ? 4 : 2)
        case .head: head = moved(head, 0...600_000)
        case .loss: loss = min(loss * factor, 0.2)
        case .fanOut, .layers: choose(parameter, &random)
        }
        limit()
    }

    /// No round trip is longer than ten seconds.
    private mutating func limit() { wait = min(wait, 10_000 - roundTrip) }
}

extension SeededGenerator {
    /// From 0 up to 1, without it.
    mutating func fraction() -> Double { Double(next() >> 11) / Double(1 << 53) }

    mutating func happens(_ share: Double) -> Bool { fraction() < share }

    /// A number of a range of which each doubling is as likely as the next.
    mutating func logarithmic(_ low: Double, _ high: Double) -> Double {
        low * power(high / low, fraction())
    }
}

extension Adversary: CustomStringConvertible {
    var description: String {
        var parts = [
            "\(change.rawValue), \(devices) devices, fan-out \(fanOut), round trip \(roundTrip) ms ± \(Int(jitter * 100)) %",
            "\(tokens) at first",
        ]
        if spread > 0 { parts.append("within \(spread) ms") }
        if wait > 0 { parts.append("writes wait \(isBursty ? "for each " : "")\(wait) ms") }
        if honestPace > 0 {
            parts.append("\((honestPace * 1000).rounded() / 1000) honest/s\(answersHonest ? ", answered" : "")")
            if head > 0 { parts.append("\(head / 1000) s of these before") }
        }
        if loss > 0 { parts.append("\((loss * 1000).rounded() / 10) % lost") }
        parts.append((hasAllLayers ? "all layers" : "rate only") + ", care: \(care.rawValue)")
        return parts.joined(separator: ", ")
    }
}
