// Rules that take the deduplication key from a field of the data.

import KiiPush

extension RulesLint {
    mutating func checkDedupe() {
        guard rules.rules.contains(where: { $0.dedupe != nil }) else { return }
        let dead = dead
        var check = ShadowCheck(profiles) { rules.rules[$0].flow == .continue && !dead.contains($0) }
        for (number, rule) in rules.rules.enumerated() where !dead.contains(number) {
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
            } else if let earlier = check.rule(before: number, covering: profiles[number]) {
                let other = rules.rules[earlier]
                report(
                    .unusedID, place, rule.id,
                    "the id of the rule \(name(rule)) never counts: the first rule that takes a message names it, and "
                        + "the earlier rule \(name(other)) (\(other.position)) takes all of these; write 'dedupe' there",
                    related: [RuleFinding.Related(position: other.position, what: "the rule \(name(other))")])
            }
        }
        if !check.isComplete { reportIncomplete("rules that name their messages with all earlier ones") }
    }

    /// Why the conditions of a rule exclude every message with an id.
    private func neverCounts(_ dedupe: RouteDedupe, _ rule: RoutingRule) -> String? {
        if rule.criteria.certainty.allSatisfy({ $0 == .ambiguous }) {
            return "it takes ambiguous messages only, whose data name nothing; leave 'dedupe' out"
        }
        if let never = neverThere(dedupe.key) { return "it \(never); name another field" }
        let isExcluded = rule.criteria.data.contains { condition in
            var proof = DataProof()
            return condition.key.isExactly(dedupe.key) && proof.implies(condition.predicate, .exists(false))
        }
        return isExcluded ? "its 'data' asks that the field is missing; leave one of them out" : nil
    }
}
