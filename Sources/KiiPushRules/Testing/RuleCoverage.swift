import KiiPush

/// What a file's tests have shown of its rules.
///
/// The points that can be covered: each rule, when it takes a message; and each condition of `when`, and each key of
/// `data`, twice: when it holds, and when it is missed. A rule's conditions are judged in a fixed order (kind, bucket,
/// object, topic, scope, scopeID, events, sender, transport, certainty, data), and one counts only when all before it
/// held: then it was this one that decided. A condition that takes everything cannot be missed and has one point less.
/// Rules behind one that took the message are not tried, so nothing of them is counted. Outcomes are counted, but are
/// no points: most of them depend on the receiver, not on the rules.
public struct RuleCoverage: Sendable {
    /// Something that no test has shown.
    public struct Gap: Sendable, Hashable, CustomStringConvertible {
        /// What was never seen.
        public enum Kind: String, Sendable, Hashable, CaseIterable {
            /// The rule took no message.
            case taken
            /// The condition never held.
            case held
            /// The condition was never missed.
            case missed
        }

        /// What was never seen.
        public let kind: Kind
        /// The rule.
        public let rule: String
        /// The condition's key in `when`, such as `bucket` or `data`; nil for the rule itself.
        public let condition: String?
        /// The key of the data, where the condition is `data`.
        public let key: String?
        /// Where the rule begins, or the condition's key stands.
        public let position: SourcePosition

        /// The gap in words.
        public var description: String {
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
        "handled", "duplicate", "looped", "held", "refused", "unrouted", "failed", "deadLettered", "expired",
        "undecodable",
    ]

    private var tallies: [Tally]
    /// Whether a rule limits the age of its messages, without which none can expire.
    private let limitsAge: Bool
    private var messages = [Int](repeating: 0, count: allOutcomes.count)

    /// Begins with nothing covered.
    public init(_ rules: RoutingRules) {
        limitsAge = rules.rules.contains { rules.maxAge(of: $0) != nil }
        tallies = rules.rules.map { rule in
            let conditions = rule.judgedConditions
            let none = [Bool](repeating: false, count: conditions.count)
            return Tally(rule: rule, conditions: conditions, held: none, missed: none)
        }
    }

    /// Of no rules.
    init() { (tallies, limitsAge) = ([], false) }

    mutating func count(_ message: PushMessage) {
        for index in tallies.indices {
            let held = tallies[index].rule.heldConditions(message)
            for number in 0..<held { tallies[index].held[number] = true }
            guard held == tallies[index].conditions.count else {
                tallies[index].missed[held] = true
                continue
            }
            tallies[index].isTaken = true
            if tallies[index].rule.flow == .stop { return }
        }
    }

    mutating func count(_ outcome: Outcome) {
        guard let index = Self.allOutcomes.firstIndex(of: outcome.name) else { return }
        messages[index] += 1
    }

    // MARK: What was found

    /// How many points there are.
    public var points: Int { tallies.reduce(0) { $0 + $1.points.count } }

    /// How many of them are covered.
    public var covered: Int { points - uncovered.count }

    /// The covered share of the points, from 0 to 100; 100 when there are none.
    public var percent: Double { points == 0 ? 100 : Double(covered) * 100 / Double(points) }

    /// Whether the covered share is as large as asked.
    public func reaches(percent wanted: Double) -> Bool { Double(covered) * 100 >= wanted * Double(points) }

    /// The points that are not covered, by their places.
    public var uncovered: [Gap] {
        tallies.flatMap { $0.points.filter { !$0.isCovered }.map(\.gap) }
            .enumerated().sorted { ($0.element.position, $0.offset) < ($1.element.position, $1.offset) }
            .map(\.element)
    }

    /// Each outcome that there can be, and how many messages of the tests ended so; held ones count when they are
    /// held, and again when they end.
    public var outcomes: [(name: String, messages: Int)] {
        zip(Self.allOutcomes, messages).filter { limitsAge || $0.0 != "expired" }.map { (name: $0, messages: $1) }
    }
}

extension RuleCoverage.Tally {
    /// The rule's points, each with the gap that it is when it is not covered.
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
