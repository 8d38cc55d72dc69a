// Conditions in the order of evaluation, for the coverage count.

package import KiiPush

extension RoutingRule {
    /// One condition of a rule.
    package struct JudgedCondition {
        /// The key of `when`, such as `bucket` or `data`.
        package let name: String
        /// The key of the data, if ``name`` is `data`.
        package let key: String?
        /// Its position; nil for a certainty that the rule requires implicitly.
        package let position: SourcePosition?
        /// Whether any message can fail it.
        package let canMiss: Bool
    }

    /// The conditions in the order of evaluation, the same as that of ``explain(_:)``.
    package var judgedConditions: [JudgedCondition] {
        func condition(_ name: String, _ key: String?, canMiss: Bool) -> JudgedCondition {
            let place = conditions.first { condition in
                condition.name == name
                    && (key.map { condition.key?.isExactly($0) == true } ?? (condition.key == nil))
            }
            return JudgedCondition(name: name, key: key, position: place?.position, canMiss: canMiss)
        }
        return judged.map { judged in
            let takesAll = judged == .certainty && Certainty.allCases.allSatisfy(criteria.certainty.contains)
            return condition(judged.rawValue, nil, canMiss: !takesAll)
        } + criteria.data.map { condition("data", $0.key, canMiss: true) }
    }

    private static let behindTheKind = WhenCondition.allCases.filter { $0 != .kind }

    private var judged: [WhenCondition] {
        WhenCondition.allCases.filter { $0 == .certainty || $0.isSet(in: criteria) }
    }

    /// How many conditions hold for a message before the first that does not; all of them if the rule matches.
    package func heldConditions(_ message: PushMessage) -> Int {
        var held = 0
        // This runs for every rule and every message, and most rules fail here: a quick test comes first.
        if criteria.kinds != .all {
            guard criteria.kinds.contains(KindSet(message.kind)) else { return 0 }
            held = 1
        }
        for condition in Self.behindTheKind where condition == .certainty || condition.isSet(in: criteria) {
            guard condition.holds(criteria, message) else { return held }
            held += 1
        }
        for condition in criteria.data {
            guard condition.holds(for: message) else { return held }
            held += 1
        }
        return held
    }
}
