import KiiPush
import KiiPushTesting
import Synchronization

/// Records the history of a run's messages, over all its processes, and checks it against the guarantees.
final class ServiceLedger: Sendable {
    private struct State {
        var dice: SeededGenerator
        /// How many times the handler of each route succeeded for each message.
        var successes: [Int: [String: Int]] = [:]
        /// How many more times each message may have been handled.
        var excused: [Int: Int] = [:]
        /// The newest message of each object that each route has handled.
        var newest: [String: Int] = [:]
        /// The outcomes of each message, except failures.
        var ends: [Int: Set<String>] = [:]
        var violations: [String] = []
        /// The history of each message, for the report of a violation.
        var stories: [Int: [String]] = [:]

        mutating func tell(_ number: Int, _ what: String) {
            if stories[number, default: []].count < 60 { stories[number, default: []].append(what) }
        }

        mutating func violate(_ number: Int, _ what: String) {
            violations.append("message \(number) \(what): \(stories[number, default: []].joined(separator: ", "))")
        }
    }

    private let state: Mutex<State>
    private let plan: ServicePlan

    init(_ plan: ServicePlan) {
        self.plan = plan
        state = Mutex(State(dice: SeededGenerator(seed: plan.seed &+ 1)))
    }

    var violations: [String] { state.withLock { $0.violations } }

    func roll(_ sides: Int) -> Int { state.withLock { Int($0.dice.next() % UInt64(sides)) } }

    func violate(_ what: String) { state.withLock { $0.violations.append(what) } }

    // MARK: While it runs

    /// Records an event of messages.
    func tell(_ numbers: some Sequence<Int>, _ what: String) {
        state.withLock { state in
            for number in numbers { state.tell(number, what) }
        }
    }

    /// Records an event of the message in a payload.
    func tell(_ payload: RawPayload, _ what: String) {
        guard let message = try? PushMessage(payload) else { return }
        tell([ServicePlan.number(of: message)], what)
    }

    func succeeded(_ number: Int, _ route: String) {
        state.withLock { state in
            state.successes[number, default: [:]][route, default: 0] += 1
            let times = state.successes[number]?[route] ?? 0
            state.tell(number, "handled by \(route)")
            if times > 1 + state.excused[number, default: 0] {
                state.violate(number, "was handled \(times) times by \(route)")
            }
            // A message that was redelivered after its process had ended follows those that arrived in between.
            guard plan.isOrdered, times == 1, state.excused[number] == nil else { return }
            let key = "\(plan.object(of: number)) \(route)"
            if let newest = state.newest[key], newest > number {
                state.violate(number, "was handled after \(newest) of its object, by \(route)")
            }
            state.newest[key] = max(state.newest[key] ?? 0, number)
        }
    }

    func ended(_ number: Int, _ outcome: Outcome) {
        state.withLock { state in
            state.tell(number, outcome.description)
            if case .failed = outcome {
                // It is redelivered, for all of its routes.
                if !plan.isDurable { state.excused[number, default: 0] += 1 }
                return
            }
            state.ends[number, default: []].insert(outcome.name)
        }
    }

    /// Allows messages to be handled once more, because their process ended while they were in flight.
    func excuse(_ numbers: some Sequence<Int>) {
        state.withLock { state in
            for number in numbers {
                state.excused[number, default: 0] += 1
                state.tell(number, "may be handled once more")
            }
        }
    }

    func excuse(_ payload: RawPayload) {
        guard let message = try? PushMessage(payload) else { return }
        excuse([ServicePlan.number(of: message)])
    }

    // MARK: At the end

    /// Checks that each pushed message was handled by each of its routes, or is accounted for in another way.
    func close(_ letters: [DeadLetter], routes: (Int) -> [String]) {
        var aside: [Int: Set<String>] = [:]
        for letter in letters {
            guard let message = try? PushMessage(letter.payload) else { continue }
            aside[ServicePlan.number(of: message), default: []].formUnion(letter.routes)
        }
        let ended: Set = ["superseded", "expired", "looped"]
        state.withLock { state in
            for number in 1...plan.messages {
                guard state.ends[number, default: []].isDisjoint(with: ended) else { continue }
                for route in routes(number)
                where state.successes[number]?[route] == nil && aside[number]?.contains(route) != true {
                    state.violate(number, "was lost for \(route)")
                }
            }
        }
    }
}
