// Rules that take the deduplication key from a field of the data.

import KiiPush

extension RulesLint {
    mutating func checkDedupe() {
        guard rules.rules.contains(where: { $0.dedupe != nil }) else { return }
        var passing = EarlierRules()
        for (number, rule) in rules.rules.enumerated() where !dead.contains(number) {
            defer { if rule.flow == .continue { passing.add(number, rule.criteria) } }
            guard let dedupe = rule.dedupe, let place = rule.dedupePosition else { continue }
            let key = "'\(Suggestion.shown(dedupe.key))'"
            if let why = neverCounts(dedupe, rule) {
                report(.unusedID, place, rule.id, "the rule \(name(rule)) never finds an id in \(key): \(why)")
            } else if profiles[number].kinds == KindSet(.pushToApp) {
                report(
                    .dataOfPushToApp, place, rule.id,
                    "Kii sends no data with a Push to App, so \(key) is missing and names no message of the rule "
                        + "\(name(rule)); leave 'dedupe' out"
                )
            } else if let earlier = passing.covering(rule.criteria) {
                let other = rules.rules[earlier]
                report(
                    .unusedID, place, rule.id,
                    "the id of the rule \(name(rule)) never counts: the first rule that takes a message names it, and "
                        + "the earlier rule \(name(other)) (\(other.position)) takes all of these; write 'dedupe' there",
                    related: [RuleFinding.Related(position: other.position, what: "the rule \(name(other))")])
            }
        }
    }

    /// Why the conditions of a rule exclude every message with an id.
    private func neverCounts(_ dedupe: RouteDedupe, _ rule: RoutingRule) -> String? {
        if rule.criteria.certainty.allSatisfy({ $0 == .ambiguous }) {
            return "it takes ambiguous messages only, whose data name nothing; leave 'dedupe' out"
        }
        if let never = neverThere(dedupe.key) { return "it \(never); name another field" }
        let isExcluded = rule.criteria.data.contains { condition in
            condition.key.isExactly(dedupe.key) && DataPredicate.all([condition.predicate, .exists()]).neverHolds
        }
        return isExcluded ? "its 'data' asks that the field is missing; leave one of them out" : nil
    }
}
