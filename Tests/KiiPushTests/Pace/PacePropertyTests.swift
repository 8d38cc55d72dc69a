import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// What holds of a pace whatever comes.
struct PacePropertyTests {
    /// Numbers from a seed.
    struct Dice {
        private var source: SeededGenerator

        init(_ seed: UInt64) { source = SeededGenerator(seed: seed) }

        mutating func real(_ range: ClosedRange<Double>) -> Double { Double.random(in: range, using: &source) }
        mutating func whole(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &source) }
        mutating func pick<Value>(_ values: [Value]) -> Value { values[whole(0...values.count - 1)] }
    }

    /// Who causes messages: each that passes causes some more, after a while.
    struct Adversary {
        /// How long a message's round trip takes; another range in each phase.
        private var delays: ClosedRange<Double>
        /// How many messages each causes, at least and at most.
        private var children: ClosedRange<Int>
        /// Whether it collects what it causes and sends it in even steps, to look like a source of its own.
        private var step: Double?
        private let longest: Double
        private let fewest: Int
        private var phaseEnd = 0.0
        private var lastSent = 0.0

        init(_ dice: inout Dice, longest: Double, fewest: Int) {
            (self.longest, self.fewest) = (longest, fewest)
            (delays, children, step) = (0...longest, 1...1, nil)
            change(&dice)
        }

        private mutating func change(_ dice: inout Dice) {
            let least = dice.real(0.01...longest)
            delays = least...max(least, dice.pick([least, longest, dice.real(least...longest)]))
            let fewest = dice.whole(self.fewest...2)
            children = fewest...max(1, dice.whole(fewest...3))
            step = dice.pick([nil, nil, dice.real(0.01...2)])
        }

        /// When the messages come that one causes which passed now.
        mutating func caused(_ now: Double, _ dice: inout Dice) -> [Double] {
            if now > phaseEnd {
                change(&dice)
                phaseEnd = now + dice.pick([5, 60, 900])
            }
            return (0..<dice.whole(children)).map { _ in
                let time = now + dice.real(delays)
                guard let step else { return time }
                // Not later than its round trip may be.
                lastSent = min(max(time, lastSent + step), now + longest)
                return lastSent
            }
        }
    }

    /// Runs an adversary against a pace for some hours; everything that comes is caused, but the beginning.
    private static func run(_ limits: Pace.Limits, _ dice: inout Dice, longest: Double, hours: Double) -> PaceLane {
        var lane = PaceLane(limits, at: 1000)
        // New keys that wait in thousands get their allowance again whenever nothing has come for a while.
        var adversary = Adversary(&dice, longest: longest, fewest: limits.proofs == .infinity ? 1 : 0)
        var coming = Array(repeating: 1000.0, count: dice.whole(1...150))
        let end = 1000 + hours * 3600
        var seen = 0
        while true {
            // What passes causes more, and a loop that has died is started again.
            while seen < lane.passes.count {
                let caused = adversary.caused(lane.passes[seen].at, &dice)
                seen += 1
                // A queue without bound tells nothing more.
                guard coming.count + lane.queue.count < 500 else { continue }
                for time in caused { coming.insert(time, at: coming.lowerBound(of: time)) }
            }
            let next = coming.first ?? .infinity
            if let due = lane.due, due <= next {
                guard due < end else { return lane }
                _ = lane.passToDue()
            } else if next < end {
                coming.removeFirst()
                lane.come(at: next)
            } else {
                return lane
            }
        }
    }

    @Test(
        "a loop's messages per hour stay within the floor, the allowances and a burst",
        // A route's new keys must not wait for so long: round trips of more than three seconds may deceive it.
        arguments: PaceTests.kinds.map { ($0, 2.9) }
            + PaceTests.kinds.filter { $0.limits.proofs < .infinity }.map { ($0, 14.5) })
    func bounded(kind: PaceTests.Kind, longest: Double) {
        let most =
            3600 / kind.limits.every + kind.limits.allowance + kind.limits.burst
            + (kind.limits.proofs == .infinity ? 0 : kind.limits.proofs) + 1
        for seed in UInt64(1)...6 {
            var dice = Dice(seed)
            let lane = Self.run(kind.limits, &dice, longest: longest, hours: 2)
            #expect(Double(lane.mostInAnHour) <= most, "seed \(seed)")
            #expect(!lane.wentBack, "seed \(seed)")
        }
    }

    @Test(
        "whatever comes, each message that waits gets a future time, passes in order, and leaves the count",
        arguments: PaceTests.kinds, [0.0, 100_000_000])
    func progress(kind: PaceTests.Kind, start: Double) {
        for seed in UInt64(1)...8 {
            var dice = Dice(seed)
            var lane = PaceLane(kind.limits, at: start)
            var (now, sent) = (start, 0)
            for _ in 0..<150 {
                now += dice.pick([0, dice.real(0...0.2), dice.real(0...5), dice.real(0...60), dice.real(0...900)])
                let count = dice.pick([1, 1, 3, dice.whole(1...80)])
                lane.come(count, at: now)
                sent += count
                #expect(lane.pace.waiting == lane.queue.count)
            }
            // It is quiet now: each that waits passes, at the latest by the floor.
            let most = now + 60 + 2 * Double(lane.queue.count) * kind.limits.every
            lane.pass(until: most)
            #expect(lane.queue.isEmpty && lane.pace.waiting == 0, "seed \(seed)")
            #expect(lane.passes.count + lane.superseded == sent, "seed \(seed)")
            #expect(!lane.wentBack, "seed \(seed)")
            #expect(lane.passes.map(\.came) == lane.passes.map(\.came).sorted(), "in order")
        }
    }

    @Test(
        "the count of waiting messages is right after any sequence of calls",
        arguments: 1...12 as ClosedRange<UInt64>)
    func counts(seed: UInt64) {
        var dice = Dice(seed)
        let limits = dice.pick(PaceTests.kinds).limits
        var pace = Pace(limits, now: 0)
        var (now, waiting) = (0.0, 0)
        for _ in 0..<2000 {
            now += dice.real(0...1)
            switch dice.whole(0...9) {
            case 0...5:
                pace.hear(now, isNew: dice.whole(0...3) > 0, limits)
                waiting += 1
            case 6, 7:
                guard waiting > 0 else { continue }
                if case .now = pace.ask(now, limits) { waiting -= 1 }
            default:
                guard waiting > 0 else { continue }
                pace.leave()
                waiting -= 1
            }
            #expect(pace.waiting == waiting)
        }
        while waiting > 0 {
            pace.leave()
            waiting -= 1
        }
        pace.leave()
        #expect(pace.waiting == 0)
    }
}

extension [Double] {
    /// The first index whose element is greater, in an ordered array.
    fileprivate func lowerBound(of value: Double) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] <= value { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// The messages of one key in their lane, and the pace that says when each of them passes.
struct PaceLane {
    let limits: Pace.Limits
    private(set) var pace: Pace
    private(set) var now: Double
    /// When those that wait came, in order.
    private(set) var queue: [Double] = []
    /// When the first of them asks again.
    private(set) var due: Double?
    /// When each came that passed, and when it passed.
    private(set) var passes: [(came: Double, at: Double)] = []
    private(set) var superseded = 0
    /// Whether it was ever told to ask again at a time that is not in the future.
    private(set) var wentBack = false
    /// How often in a row the first was told to wait.
    private var waits = 0

    init(_ limits: Pace.Limits, at now: Double = 0) {
        (self.limits, self.now) = (limits, now)
        pace = Pace(limits, now: now)
    }

    /// Lets time pass, and the first asks again whenever it is due.
    mutating func pass(until end: Double) {
        while let next = due, next <= end {
            now = next
            ask()
        }
        now = end
    }

    /// Lets time pass until the first asks again, and asks; returns whether one was due.
    mutating func passToDue() -> Bool {
        guard let due else { return false }
        pass(until: due)
        return true
    }

    /// Messages come, sent just before.
    mutating func come(_ count: Int = 1, at time: Double) {
        pass(until: time)
        for _ in 0..<count {
            pace.hear(now, isNew: true, limits)
            queue.append(now)
        }
        if due == nil { ask() }
    }

    private mutating func ask() {
        due = nil
        while !queue.isEmpty {
            if limits.newestWins, waits > 0, queue.count > 1, pace.hasFailed(now, limits) {
                for _ in queue.dropLast() { pace.leave() }
                superseded += queue.count - 1
                queue.removeFirst(queue.count - 1)
            }
            switch pace.ask(now, limits) {
            case .now:
                passes.append((queue.removeFirst(), now))
                waits = 0
            case .later(let time):
                // Rounded, as the guard does.
                let until = MonotonicInstant(seconds: time).seconds
                waits += 1
                if until <= now { wentBack = true }
                due = until > now ? until : now + 1
                return
            }
        }
    }

    /// How many passed at each moment, as `20 at 0`.
    var groups: [String] {
        var groups: [(count: Int, at: Double)] = []
        for (_, at) in passes {
            if let last = groups.last, at - last.at < 0.01 {
                groups[groups.count - 1].count += 1
            } else {
                groups.append((1, at))
            }
        }
        return groups.map { "\($0.count) at \(($0.at * 100).rounded() / 100)" }
    }

    /// The most that passed in any hour.
    var mostInAnHour: Int {
        var (most, first) = (0, 0)
        for index in passes.indices {
            while passes[index].at - passes[first].at >= 3600 { first += 1 }
            most = max(most, index - first + 1)
        }
        return most
    }
}
