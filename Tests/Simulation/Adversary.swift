import KiiPush
import KiiPushTesting

/// The part that a loop changes from message to message.
enum LoopChange: String, CaseIterable {
    /// Nothing: each message is about the same object.
    case nothing = "nothing"
    /// The bucket, one of two; the object's id stays.
    case twoBuckets = "two buckets"
    case object
    case sender
    case topic
    case bucket
    case scope
    /// The route, one of eight, and the scope.
    case route
    /// A random one of the others, each time.
    case mixed

    /// The breaker that bounds it.
    var shape: LoopBound.Shape {
        switch self {
        case .nothing, .twoBuckets: .object
        case .object, .sender: .bucket
        case .topic, .bucket, .scope: .route
        case .route, .mixed: .device
        }
    }
}

/// A loop that is tuned to get as many messages handled as possible.
struct Adversary {
    var change = LoopChange.nothing
    var devices = 1
    /// How many writes each handled message causes.
    var fanOut = 1
    /// The time from a write to its event, in milliseconds, and the fraction by which it varies.
    var roundTrip = 500
    var jitter = 0.1
    /// How many messages it begins with, and the milliseconds in which they are written.
    var tokens = 1
    var spread = 0
    /// How long a write waits after its handler has ended, in milliseconds.
    var wait = 0
    /// Whether writes wait for the next multiple of `wait` and go together, instead of each waiting for that time.
    var isBursty = false
    /// How many messages a second come from outside during the loop.
    var honestPace = 0.0
    /// Whether handlers answer these too.
    var answersHonest = false
    /// For how many milliseconds only these come before the loop begins, so that their key is trusted.
    var head = 0
    var loss = 0.0
    /// Whether all layers are on, not only the rate.
    var hasAllLayers = false
    var care = Care.none

    /// The precautions of handlers against loops.
    enum Care: String, CaseIterable {
        case none
        /// They declare their writes, but do not stamp them.
        case announces
        /// They stamp and patch the object, and leave its other fields as they are.
        case patches
        /// They write, and then fail.
        case fails
    }

    /// Whether its answers take longer than a second.
    var isSlow: Bool { roundTrip + wait > 1000 }

    /// The factor by which each generation outnumbers the one before if nothing is held.
    var growth: Double { Double(devices * fanOut) * (1 - loss) }

    /// How many of its messages a device may handle in the first hour.
    var bound: Int {
        guard isSlow else { return change == .nothing ? 40 : 2100 }
        // Its own pace, if that is below 20 in 10 s; a round trip of bursty writes is a multiple of `wait`.
        let round = isBursty && wait > 0 ? (roundTrip / wait + 1) * wait : roundTrip + wait
        let pace = Double(tokens) * 1000 / Double(round)
        return growth <= 1 && pace < 2 ? max(1000, Int(pace * 3600 * 1.05) + tokens) : 1000
    }

    /// About how many deliveries a run costs.
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
    /// Makes the adversary of a seed: any parameters, at no more than `mostCost`.
    init(seed: UInt64, mostCost: Int) {
        var random = SeededGenerator(seed: seed &* 0x9E37_79B9 &+ 17)
        // In turn, so that a few seeds cover all.
        change = LoopChange.allCases[Int(seed % UInt64(LoopChange.allCases.count))]
        repeat {
            for parameter in Parameter.allCases { choose(parameter, &random) }
        } while cost > mostCost
    }

    /// A copy with some parameters chosen anew or changed a little.
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
    /// A number from 0 up to 1, exclusive.
    mutating func fraction() -> Double { Double(next() >> 11) / Double(1 << 53) }

    mutating func happens(_ share: Double) -> Bool { fraction() < share }

    /// A number of a range in which each doubling is equally likely.
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
