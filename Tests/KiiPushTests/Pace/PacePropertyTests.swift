import Glibc
import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// What holds of a pace whatever comes.
struct PacePropertyTests {
    @Test(
        "whatever comes, each message that waits gets a future time, passes in order, and leaves the count",
        arguments: PaceTests.kinds, [0.0, 100_000_000])
    func progress(kind: PaceTests.Kind, start: Double) {
        for seed in UInt64(1)...8 {
            var source = SeededGenerator(seed: seed)
            var lane = PaceLane(kind.limits, at: start)
            var (now, sent) = (start, 0)
            for _ in 0..<150 {
                let pauses = [0, 0.2, 5, 60, 900].map { Double.random(in: 0...$0, using: &source) }
                now += pauses.randomElement(using: &source) ?? 0
                let count = [1, 1, 3, Int.random(in: 1...80, using: &source)].randomElement(using: &source) ?? 1
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

    /// After an hour, what short pauses show counts again, and long pauses end.
    @Test("the newest change of an object waits for no pause after another, where short and long ones meet")
    func lengths() {
        for seed in UInt64(1)...60 {
            var source = SeededGenerator(seed: seed)
            let start = Double.random(in: 0...86_400, using: &source)
            var (lane, now, turn, rate) = (PaceLane(.objects(), at: start), start, start, 1.0)
            while now < start + 5000 {
                if now >= turn {
                    // 2 to 32 seconds at 0.1 to 50 a second, each doubling as often as another.
                    turn = now + exp2(.random(in: 1...5, using: &source))
                    rate = exp2(.random(in: -3.3...5.6, using: &source))
                }
                now += -log(.random(in: 0.000_001...1, using: &source)) / rate
                lane.come(at: now)
            }
            let latest = lane.passes.map { $0.at - $0.came }.max() ?? 0
            #expect(latest < 17, "seed \(seed)")
        }
    }

    /// Each hears only what the other one causes, since it drops its own events.
    @Test("two devices that begin to answer each other at once handle a loop as often as one that answers itself")
    func answering() {
        for seed in UInt64(1)...20 {
            var source = SeededGenerator(seed: seed)
            let fanOut = Double.random(in: 1...2, using: &source)
            var lanes = [PaceLane(.objects()), PaceLane(.objects())]
            var (seen, owed, coming) = ([0, 0], [20.0, 20], [[Double](), []])
            for now in stride(from: 0, to: 3600, by: 0.05) {
                for device in 0..<2 {
                    let due = coming[device].filter { $0 <= now }.sorted()
                    coming[device].removeAll { $0 <= now }
                    for time in due where lanes[device].queue.count < 100 { lanes[device].come(at: time) }
                    lanes[device].pass(until: now)
                    owed[device] += fanOut * Double(lanes[device].passes.count - seen[device])
                    seen[device] = lanes[device].passes.count
                    while owed[device] >= 1 {
                        owed[device] -= 1
                        coming[1 - device].append(now + Double.random(in: 0.1...2.9, using: &source))
                    }
                }
            }
            let most = lanes.map(\.passes.count).max() ?? 0
            #expect(most <= 800, "seed \(seed)")
        }
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
}
