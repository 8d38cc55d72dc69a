import Synchronization

/// Runs a service once for each of a range of seeds.
struct ServiceSeeds {
    private var count: UInt64 = 2000
    private var first: UInt64 = 1

    /// The state that the tasks share.
    private final class Tally: Sendable {
        private let next = Atomic<UInt64>(0)
        private let broken = Mutex(0)

        var failures: Int { broken.withLock { $0 } }

        func take() -> UInt64 { next.add(1, ordering: .relaxed).oldValue }

        func report(_ seed: UInt64, _ violations: [String]) {
            guard let violation = violations.first else { return }
            let more = violations.count > 1 ? ", and \(violations.count - 1) more" : ""
            broken.withLock { broken in
                broken += 1
                if broken <= 20 { complain("seed \(seed): \(violation)\(more)\n  \(ServicePlan(seed: seed))") }
            }
        }
    }

    /// Reads the value of an option; returns false if it is not a number from 1.
    mutating func read(_ option: String, _ value: String) -> Bool {
        guard let number = UInt64(value), number > 0 else { return false }
        if option == "--first" { first = number } else { count = number }
        return true
    }

    /// Runs all seeds on two cores and prints those that broke a guarantee; returns whether none did.
    func run() async -> Bool {
        let tally = Tally()
        let clock = ContinuousClock()
        let start = clock.now
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    while case let index = tally.take(), index < count {
                        tally.report(first + index, ServiceRun.violations(seed: first + index))
                    }
                }
            }
        }
        let (failures, time) = (tally.failures, start.duration(to: clock.now))
        print("service: \(count) seeds from \(first) in \(time), \(failures) broke a guarantee")
        return failures == 0
    }
}
