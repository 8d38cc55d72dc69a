package import KiiPush

/// Which parts of a file's rules its tests cover.
///
/// Points: each rule, when it matches a message; and each condition of `when` and each key of `data`, twice: when it
/// holds, and when it fails. The conditions of a rule are evaluated in a fixed order (kind, bucket, object, topic,
/// scope, scopeID, events, sender, format, type, command, transport, mqtt, certainty, data, all, any, not), and a
/// condition counts only if all before it held, so that it decided; inside `any`, only if no part before it held. A
/// condition that always holds has one point only. Rules behind one that stopped the message are not evaluated and not
/// counted. Outcomes are counted, but are not points: most depend on the receiver, not on the rules.
package struct RuleCoverage: Sendable {
    /// A point that no test has covered.
    package struct Gap: Sendable, Hashable, CustomStringConvertible {
        /// What was not covered.
        package enum Kind: String, Sendable, Hashable, CaseIterable {
            /// The rule matched no message.
            case taken
            /// The condition never held.
            case held
            /// The condition never failed.
            case missed
        }

        /// What was not covered.
        package let kind: Kind
        /// The rule.
        package let rule: String
        /// The condition's key in `when`, such as `bucket` or `data`; nil for the rule itself.
        package let condition: String?
        /// The key of the data, if the condition is `data`.
        package let key: String?
        /// The position of the rule, or of the condition's key.
        package let position: SourcePosition

        /// The gap in words.
        package var description: String {
            guard let condition else { return "rule '\(rule)' took no message" }
            let name = key.map { "\(condition) \($0.quotedAsJSON)" } ?? condition
            return kind == .held ? "rule '\(rule)': \(name) never held" : "rule '\(rule)': \(name) was never missed"
        }
    }

    fileprivate struct Tally {
        let rule: RoutingRule
        let conditions: [RoutingRule.JudgedCondition]
        var isTaken = false
        var held: [Bool]
        var missed: [Bool]
    }

    /// The outcomes that a test can see.
    private static let allOutcomes = [
        "handled", "duplicate", "looped", "paced", "refused", "unrouted", "failed", "deadLettered", "expired",
        "undecodable",
    ]

    private var tallies: [Tally]
    /// Whether a rule limits the age of its messages; without a limit none can expire.
    private let limitsAge: Bool
    private var messages = [Int](repeating: 0, count: allOutcomes.count)

    /// Begins with nothing covered.
    package init(_ rules: RoutingRules) {
        limitsAge = rules.rules.contains { rules.maxAge(of: $0) != nil }
        tallies = rules.rules.map { rule in
            let conditions = rule.judgedConditions
            let none = [Bool](repeating: false, count: conditions.count)
            return Tally(rule: rule, conditions: conditions, held: none, missed: none)
        }
    }

    mutating func count(_ message: PushMessage) {
        var decided: [(number: Int, holds: Bool)] = []
        for index in tallies.indices {
            decided.removeAll(keepingCapacity: true)
            let isTaken = tallies[index].rule.judge(message) { decided.append(($0, $1)) }
            for (number, holds) in decided {
                if holds { tallies[index].held[number] = true } else { tallies[index].missed[number] = true }
            }
            guard isTaken else { continue }
            tallies[index].isTaken = true
            if tallies[index].rule.flow == .stop { return }
        }
    }

    /// Adds what tests of the same file with other values have covered.
    mutating func add(_ other: RuleCoverage) {
        for (index, tally) in other.tallies.enumerated() where tallies.indices.contains(index) {
            tallies[index].isTaken = tallies[index].isTaken || tally.isTaken
            // By position, since with other values a condition may match anything, and is then none.
            let numbers = Dictionary(tally.conditions.enumerated().map { ($1.position, $0) }) { first, _ in first }
            for (number, condition) in tallies[index].conditions.enumerated() {
                guard let same = numbers[condition.position] else { continue }
                if tally.held[same] { tallies[index].held[number] = true }
                if tally.missed[same] { tallies[index].missed[number] = true }
            }
        }
        for index in messages.indices { messages[index] += other.messages[index] }
    }

    mutating func count(_ outcome: Outcome) {
        guard let index = Self.allOutcomes.firstIndex(of: outcome.name) else { return }
        messages[index] += 1
    }

    // MARK: Results

    /// How many points there are.
    package var points: Int { tallies.reduce(0) { $0 + $1.points.count } }

    /// How many of them are covered.
    package var covered: Int { points - uncovered.count }

    /// The covered share of the points, from 0 to 100; 100 when there are none.
    package var percent: Double { points == 0 ? 100 : Double(covered) * 100 / Double(points) }

    /// Whether the covered share is at least this.
    package func reaches(percent wanted: Double) -> Bool { Double(covered) * 100 >= wanted * Double(points) }

    /// The points that are not covered, in order of position.
    package var uncovered: [Gap] {
        tallies.flatMap { $0.points.filter { !$0.isCovered }.map(\.gap) }
            .enumerated().sorted { ($0.element.position, $0.offset) < ($1.element.position, $1.offset) }
            .map(\.element)
    }

    /// Each possible outcome, and how many messages of the tests had it; one that has to wait counts as
    /// `paced`, and again when it ends.
    package var outcomes: [(name: String, messages: Int)] {
        zip(Self.allOutcomes, messages).filter { limitsAge || $0.0 != "expired" }.map { (name: $0, messages: $1) }
    }
}

extension RuleCoverage.Tally {
    /// The rule's points, each with the gap to report if it is not covered.
    fileprivate var points: [(gap: RuleCoverage.Gap, isCovered: Bool)] {
        func gap(_ kind: RuleCoverage.Gap.Kind, _ condition: RoutingRule.JudgedCondition? = nil) -> RuleCoverage.Gap {
            RuleCoverage.Gap(
                kind: kind, rule: rule.id, condition: condition?.name, key: condition?.key,
                position: condition?.position ?? rule.position)
        }
        var points = [(gap(.taken), isTaken)]
        for (number, condition) in conditions.enumerated() where condition.position != nil {
            points.append((gap(.held, condition), held[number]))
            if condition.canMiss { points.append((gap(.missed, condition), missed[number])) }
        }
        return points
    }
}
