// What the count of covered conditions needs of a rule.

package import KiiPush

extension RoutingRule {
    /// A condition in the order in which a rule's conditions are judged.
    package struct JudgedCondition {
        /// The key of `when`, such as `bucket` or `data`.
        package let name: String
        /// The key of the data, where ``name`` is `data`.
        package let key: String?
        /// Where it stands; nil for the certainty that a rule asks for without saying so.
        package let position: SourcePosition?
        /// Whether there is a message that misses it.
        package let canMiss: Bool
    }

    /// The conditions in the order in which they are judged, which is that of ``explain(_:)``.
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

    /// How many of the conditions hold for a message, up to the first that does not; all of them when the rule takes
    /// it.
    package func heldConditions(_ message: PushMessage) -> Int {
        var held = 0
        // Asked of every rule for every message: most rules miss here, and need not be asked condition by condition.
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
