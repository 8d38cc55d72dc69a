@testable import KiiPush
@testable import KiiPushTestSupport

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
