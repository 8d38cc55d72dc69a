// A rule that lists several texts matches what several rules with one text each would match.

import KiiPush

extension RouteCriteria {
    /// The most parts of one rule.
    static let mostParts = 64

    /// The rule split into parts with one alternative per condition; nil if it has only one part, or too many.
    func parts(of profile: RuleProfile) -> [RouteCriteria]? {
        var parts = [self]
        func split(_ count: Int, _ part: (Int) -> (inout RouteCriteria) -> Void) -> Bool {
            guard count > 1 else { return true }
            guard parts.count * count <= Self.mostParts else { return false }
            parts = parts.flatMap { criteria in
                (0..<count).map { number in
                    var criteria = criteria
                    part(number)(&criteria)
                    return criteria
                }
            }
            return true
        }
        let kinds = profile.kinds.kinds
        let certainty = profile.kinds.contains(KindSet(.directPush)) ? self.certainty : []
        guard split(kinds.count, { number in { $0.kind = kinds[number] } }),
            split(certainty.count, { number in { $0.certainty = [certainty[number]] } })
        else { return nil }
        for condition in WhenCondition.allCases {
            let alternatives = self.alternatives(of: condition)
            guard split(alternatives.count, { number in { $0 = alternatives[number]($0) } }) else { return nil }
        }
        for (index, condition) in data.enumerated() {
            let predicates = condition.predicate.alternatives
            guard
                split(
                    predicates.count,
                    { number in { $0.data[index] = DataCondition(key: condition.key, predicate: predicates[number]) } })
            else { return nil }
        }
        return parts.count > 1 ? parts : nil
    }

    /// For each text of a condition, a function that narrows criteria to this text.
    func alternatives(of condition: WhenCondition) -> [(RouteCriteria) -> RouteCriteria] {
        func texts(
            _ path: WritableKeyPath<RouteCriteria, TextPattern?>
        ) -> [(RouteCriteria) -> RouteCriteria] {
            (self[keyPath: path]?.alternatives ?? []).map { alternative in
                { criteria in
                    var criteria = criteria
                    criteria[keyPath: path] = TextPattern([alternative])
                    return criteria
                }
            }
        }
        switch condition {
        case .bucket: return texts(\.bucket)
        case .object: return texts(\.object)
        case .topic: return texts(\.topic)
        case .scopeID: return texts(\.scopeID)
        case .events: return texts(\.events)
        case .transport: return texts(\.transport)
        case .scope:
            return (scope?.alternatives ?? []).map { alternative in
                { criteria in
                    var criteria = criteria
                    criteria.scope = ScopePattern([alternative])
                    return criteria
                }
            }
        case .sender:
            return (sender?.alternatives ?? []).map { alternative in
                { criteria in
                    var criteria = criteria
                    criteria.sender = SenderPattern([alternative])
                    return criteria
                }
            }
        case .kind, .certainty: return []
        }
    }
}

extension DataPredicate {
    /// The predicates of which one must hold, if it is a list.
    var alternatives: [DataPredicate] {
        switch test {
        case .any(let parts): parts
        case .anyOf(let values): values.map { DataPredicate(.equals($0)) }
        case .like, .equals, .prefix, .suffix, .greater, .less, .exists, .not, .all: [self]
        }
    }
}
