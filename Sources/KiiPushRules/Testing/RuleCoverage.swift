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
        package enum Kind: String, Sendable, Hashable, CaseIterable {
            case taken
            case held
            case missed
        }

        package let kind: Kind
        package let rule: String
        /// The condition's key in `when`, such as `bucket` or `data`; nil for the rule itself.
        package let condition: String?
        package let key: String?
        package let position: SourcePosition

        package var description: String {
            guard let condition else { return "rule '\(rule)' took no message" }
            let name = key.map { "\(condition) \($0.quotedAsJSON)" } ?? condition
            return kind == .held ? "rule '\(rule)': \(name) never held" : "rule '\(rule)': \(name) was never missed"
        }
    }

    private var rules: [CoveredRule]
    /// Whether a rule limits the age of its messages; without a limit none can expire.
    private let limitsAge: Bool
    private var messages = [Int](repeating: 0, count: RuleExpectation.outcomes.count)

    package init(_ rules: RoutingRules) {
        limitsAge = rules.rules.contains { rules.maxAge(of: $0) != nil }
        self.rules = rules.rules.map { CoveredRule($0) }
    }

    mutating func count(_ message: PushMessage) {
        for index in rules.indices where rules[index].judge(message) && rules[index].rule.options.flow == .stop {
            return
        }
    }

    /// Adds what tests of the same file with other values have covered.
    mutating func add(_ other: RuleCoverage) {
        for (index, rule) in other.rules.enumerated() where rules.indices.contains(index) {
            rules[index].isTaken = rules[index].isTaken || rule.isTaken
            // By position, since with other values a condition may match anything, and is then none.
            let covered = Dictionary(rule.conditions.flatMap(\.withParts).map { ($0.position, $0) }) { first, _ in first
            }
            for number in rules[index].conditions.indices { rules[index].conditions[number].add(covered) }
        }
        for index in messages.indices { messages[index] += other.messages[index] }
    }

    mutating func count(_ outcome: Outcome) {
        guard let index = RuleExpectation.outcomes.firstIndex(of: outcome.name) else { return }
        messages[index] += 1
    }

    // MARK: Results

    package var points: Int { rules.reduce(0) { $0 + $1.points.count } }

    package var covered: Int { rules.reduce(0) { $0 + $1.points.count(where: \.isCovered) } }

    /// The covered share of the points, from 0 to 100; 100 when there are none.
    package var percent: Double { points == 0 ? 100 : Double(covered) * 100 / Double(points) }

    package func reaches(percent wanted: Double) -> Bool { Double(covered) * 100 >= wanted * Double(points) }

    /// The points that are not covered, in order of position.
    package var uncovered: [Gap] {
        rules.flatMap { $0.points.filter { !$0.isCovered }.map(\.gap) }
            .enumerated().sorted { ($0.element.position, $0.offset) < ($1.element.position, $1.offset) }
            .map(\.element)
    }

    /// Each possible outcome, and how many messages of the tests had it; `superseded` only if there was one.
    ///
    /// One that has to wait counts as `paced`, and again when it ends.
    package var outcomes: [(name: String, messages: Int)] {
        zip(RuleExpectation.outcomes, messages)
            .filter { name, messages in messages > 0 || name != "superseded" && (limitsAge || name != "expired") }
            .map { (name: $0, messages: $1) }
    }
}

/// What tests have covered of one rule.
package struct CoveredRule: Sendable {
    fileprivate let rule: RoutingRule
    fileprivate var isTaken = false
    /// The conditions in the order of evaluation, the same as that of ``RoutingRule/explain(_:)``.
    package fileprivate(set) var conditions: [CoveredCondition]

    package init(_ rule: RoutingRule) {
        self.rule = rule
        conditions = CoveredCondition.all(rule.criteria, path: "", rule.places)
    }

    /// Evaluates the conditions in order until one decides; returns whether the rule matches.
    package mutating func judge(_ message: PushMessage) -> Bool {
        guard rule.criteria.isGap == message.storage.isGap else { return false }
        // This runs for every rule and every message, and most rules fail here: a quick test comes first.
        guard rule.criteria.kinds.contains(KindSet(message.kind)) else {
            conditions[0].isMissed = true
            return false
        }
        let matches = CoveredCondition.judge(&conditions, rule.criteria, message)
        if matches { isTaken = true }
        return matches
    }

    /// The rule's points, each with the gap to report if it is not covered.
    fileprivate var points: [(gap: RuleCoverage.Gap, isCovered: Bool)] {
        func gap(_ kind: RuleCoverage.Gap.Kind, _ condition: CoveredCondition? = nil) -> RuleCoverage.Gap {
            RuleCoverage.Gap(
                kind: kind, rule: rule.id, condition: condition?.name, key: condition?.condition.key,
                position: condition?.position ?? rule.position)
        }
        var points = [(gap(.taken), isTaken)]
        for condition in conditions.flatMap(\.withParts) where condition.position != nil {
            points.append((gap(.held, condition), condition.isHeld))
            if condition.canMiss { points.append((gap(.missed, condition), condition.isMissed)) }
        }
        return points
    }
}

/// What tests have covered of one condition.
package struct CoveredCondition: Sendable {
    fileprivate let condition: RuleCondition
    /// The key of `when`, such as `bucket` or `data`, or its path inside `any`, `all` and `not`.
    package let name: String
    /// Its position; nil for a certainty that the rule requires implicitly.
    fileprivate let position: SourcePosition?
    /// Whether any message can fail it.
    fileprivate let canMiss: Bool
    package fileprivate(set) var isHeld = false
    package fileprivate(set) var isMissed = false
    /// The conditions inside a combined one, by its parts.
    private var parts: [[CoveredCondition]] = []

    fileprivate static func all(
        _ criteria: RouteCriteria, path: String, _ places: [ExactText: SourcePosition]
    ) -> [CoveredCondition] {
        criteria.conditions(isRoot: path.isEmpty).map { CoveredCondition($0, criteria, path: path, places) }
    }

    private init(
        _ condition: RuleCondition, _ criteria: RouteCriteria, path: String, _ places: [ExactText: SourcePosition]
    ) {
        self.condition = condition
        name = path + condition.name
        position = places[RoutingRule.label(name, condition.key)]
        switch condition {
        case .key(.certainty): canMiss = !Certainty.allCases.allSatisfy(criteria.certainty.contains)
        case .key, .data, .group: canMiss = true
        }
        guard case .group(let group) = condition else { return }
        parts = group.paths(name).map { Self.all($0.criteria, path: $0.path, places) }
    }

    fileprivate var withParts: [CoveredCondition] { [self] + parts.joined().flatMap(\.withParts) }

    /// Evaluates conditions in order until one fails.
    fileprivate static func judge(
        _ conditions: inout [CoveredCondition], _ criteria: RouteCriteria, _ message: PushMessage
    ) -> Bool {
        conditions.indices.allSatisfy { conditions[$0].judge(criteria, message) }
    }

    private mutating func judge(_ criteria: RouteCriteria, _ message: PushMessage) -> Bool {
        let holds =
            switch condition {
            case .key(let key): key.holds(criteria, message)
            case .data(let data): data.holds(for: message)
            case .group(let group): judge(group, message)
            }
        if holds { isHeld = true } else { isMissed = true }
        return holds
    }

    /// Evaluates the parts of a combined condition until one decides.
    private mutating func judge(_ group: ConditionGroup, _ message: PushMessage) -> Bool {
        func holds(_ part: Int) -> Bool { Self.judge(&parts[part], group.parts[part], message) }
        return switch group.combining {
        case .any: group.parts.indices.contains(where: holds)
        case .all: group.parts.indices.allSatisfy(holds)
        case .not: !group.parts.indices.allSatisfy(holds)
        }
    }

    /// Adds what others at the same positions have covered.
    fileprivate mutating func add(_ covered: [SourcePosition?: CoveredCondition]) {
        if let same = covered[position] {
            isHeld = isHeld || same.isHeld
            isMissed = isMissed || same.isMissed
        }
        for part in parts.indices {
            for number in parts[part].indices { parts[part][number].add(covered) }
        }
    }
}
