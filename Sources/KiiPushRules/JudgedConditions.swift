// Conditions in the order of evaluation, for the coverage count.

package import KiiPush

extension RoutingRule {
    package struct JudgedCondition {
        /// The key of `when`, such as `bucket` or `data`, or its path inside `any`, `all` and `not`.
        package let name: String
        /// The key of the data, if ``name`` is `data`.
        package let key: String?
        /// Its position; nil for a certainty that the rule requires implicitly.
        package let position: SourcePosition?
        /// Whether any message can fail it.
        package let canMiss: Bool
    }

    /// The conditions in the order of evaluation, the same as that of ``explain(_:)``; those inside a combined one
    /// follow it.
    package var judgedConditions: [JudgedCondition] { judged(criteria, path: "", places) }

    private func judged(
        _ criteria: RouteCriteria, path: String, _ places: [ExactText: SourcePosition]
    ) -> [JudgedCondition] {
        criteria.conditions(isRoot: path.isEmpty).flatMap { condition -> [JudgedCondition] in
            let name = path + condition.name
            let place = places[Self.label(name, condition.key)]
            var canMiss = true
            var inner: [JudgedCondition] = []
            switch condition {
            case .key(.certainty): canMiss = !Certainty.allCases.allSatisfy(criteria.certainty.contains)
            case .key, .data: break
            case .group(let group): inner = group.paths(name).flatMap { judged($0.criteria, path: $0.path, places) }
            }
            return [JudgedCondition(name: name, key: condition.key, position: place, canMiss: canMiss)] + inner
        }
    }

    /// The position of a condition; nil if the file does not state it.
    package func place(_ name: String, _ key: String?) -> SourcePosition? { places[Self.label(name, key)] }

    /// The positions of the conditions that the file states, by ``label(_:_:)``.
    var places: [ExactText: SourcePosition] {
        Dictionary(conditions.map { (Self.label($0.name, $0.key), $0.position) }) { first, _ in first }
    }

    /// A condition's name, with the data's key behind a space, which no name has.
    static func label(_ name: String, _ key: String?) -> ExactText { ExactText(key.map { "\(name) \($0)" } ?? name) }

    /// Evaluates the conditions in order until one decides; returns whether the rule matches.
    ///
    /// `note` is called with the number of each evaluated condition in ``judgedConditions``, and whether it held.
    package func judge(_ message: PushMessage, note: (Int, Bool) -> Void) -> Bool {
        var number = 0
        guard criteria.isGap == message.storage.isGap else { return false }
        return criteria.judge(message, isRoot: true, &number, note)
    }
}

extension RouteCriteria {
    private static let behindTheKind = WhenCondition.allCases.filter { $0 != .kind }

    /// Evaluates the conditions in order until one fails; `number` is then that of the next one.
    fileprivate func judge(
        _ message: PushMessage, isRoot: Bool, _ number: inout Int, _ note: (Int, Bool) -> Void
    ) -> Bool {
        func noted(_ holds: Bool) -> Bool {
            note(number, holds)
            number += 1
            return holds
        }
        // This runs for every rule and every message, and most rules fail here: a quick test comes first.
        if kinds != .all, !noted(kinds.contains(KindSet(message.kind))) { return false }
        for condition in Self.behindTheKind where isRoot && condition == .certainty || condition.isSet(in: self) {
            guard noted(condition.holds(self, message)) else { return false }
        }
        for condition in data { guard noted(condition.holds(for: message)) else { return false } }
        for group in groups {
            let own = number
            number += 1
            let holds = group.judge(message, &number, note)
            note(own, holds)
            guard holds else { return false }
        }
        return true
    }

    /// How many conditions there are, with those inside combined ones; of a part, not of a rule.
    fileprivate var count: Int {
        WhenCondition.allCases.count { $0.isSet(in: self) } + data.count
            + groups.reduce(0) { $0 + 1 + $1.parts.reduce(0) { $0 + $1.count } }
    }
}

extension ConditionGroup {
    /// Evaluates the parts until one decides; `number` is then that of the condition after the group.
    fileprivate func judge(_ message: PushMessage, _ number: inout Int, _ note: (Int, Bool) -> Void) -> Bool {
        var held = 0
        var isDecided = false
        for part in parts {
            let next = number + part.count
            if !isDecided {
                let holds = part.judge(message, isRoot: false, &number, note)
                if holds { held += 1 }
                isDecided = holds == (combining == .any)
            }
            number = next
        }
        return holds(combining == .all && isDecided ? 0 : held)
    }
}
