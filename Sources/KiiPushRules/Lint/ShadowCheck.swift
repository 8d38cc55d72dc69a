// Rules that earlier rules shadow, and deduplication keys that never count.

import KiiPush

/// Finds an earlier rule that matches everything that a rule matches: one with the same conditions, or without any.
///
/// Conditions are the same if the rules file writes them with the same text; patterns and ranges are not compared.
struct EarlierRules {
    private var byConditions: [ExactText: Int] = [:]
    /// The rules without conditions, except on the certainty.
    private var open: [(number: Int, certainty: [Certainty])] = []

    /// The first rule with the same conditions.
    func same(_ rule: ComparedRule) -> Int? { byConditions[rule.text] }

    /// The first rule that matches everything that a rule matches.
    func covering(_ rule: ComparedRule) -> Int? {
        let certainty = rule.criteria.certainty
        let open = rule.criteria.isGap ? nil : open.first { certainty.allSatisfy($0.certainty.contains) }?.number
        return [same(rule), open].compactMap(\.self).min()
    }

    /// Adds a rule, behind all others.
    mutating func add(_ number: Int, _ rule: ComparedRule) {
        if same(rule) == nil { byConditions[rule.text] = number }
        var unconditional = RouteCriteria()
        unconditional.certainty = rule.criteria.certainty
        if rule.criteria == unconditional { open.append((number, unconditional.certainty)) }
    }
}

/// The conditions of a rule with their text, which takes long to write.
struct ComparedRule {
    let criteria: RouteCriteria
    let text: ExactText

    init(_ criteria: RouteCriteria) {
        var writer = JSONWriter()
        criteria.write(to: &writer)
        self.criteria = criteria
        text = ExactText((criteria.isGap ? "gap " : "") + writer.text)
    }
}

extension RulesLint {
    /// Finds rules whose messages an earlier rule takes, and rules that do the same twice with the same messages.
    mutating func checkShadows() {
        var closed = EarlierRules()
        var byAction: [RoutingRule.Action: EarlierRules] = [:]
        for (number, rule) in rules.rules.enumerated() where !dead.contains(number) {
            let compared = ComparedRule(rule.criteria)
            if let earlier = closed.covering(compared) {
                let isSame = closed.same(compared) == earlier
                dead.insert(number)
                unmatched.insert(number)
                report(
                    .shadowed, rule, behind: earlier,
                    "the rule \(name(rule)) never takes a message: the earlier rule \(place(of: earlier)) "
                        + "\(isSame ? "has the same conditions and " : "")takes them all; put it before, or give that "
                        + "one \"continue\": true")
                continue
            }
            if let earlier = byAction[rule.action]?.same(compared) {
                report(
                    .sameRule, rule, behind: earlier,
                    "the rule \(name(rule)) does the same as \(place(of: earlier)) for the same messages, so they are "
                        + "handled twice; leave one out")
            }
            if rule.options.flow == .stop { closed.add(number, compared) }
            byAction[rule.action, default: EarlierRules()].add(number, compared)
        }
    }

    private func place(of number: Int) -> String { "\(name(rules.rules[number])) (\(rules.rules[number].position))" }

    private mutating func report(
        _ code: RuleFinding.Code, _ rule: RoutingRule, at position: SourcePosition? = nil, behind number: Int,
        _ what: String
    ) {
        let earlier = rules.rules[number]
        report(
            code, position ?? rule.position, rule.id, what,
            related: [RuleFinding.Related(position: earlier.position, what: "the rule \(name(earlier))")])
    }

    // MARK: Deduplication keys

    mutating func checkDedupe() {
        guard rules.rules.contains(where: { $0.options.dedupe != nil }) else { return }
        var passing = EarlierRules()
        for (number, rule) in rules.rules.enumerated() where !dead.contains(number) {
            defer { if rule.options.flow == .continue { passing.add(number, ComparedRule(rule.criteria)) } }
            guard let dedupe = rule.options.dedupe, let place = rule.dedupePosition else { continue }
            let key = "'\(Suggestion.shown(dedupe.key))'"
            if let why = neverCounts(dedupe, rule) {
                report(.unusedID, place, rule.id, "the rule \(name(rule)) never finds an id in \(key): \(why)")
            } else if profiles[number].hasNoData {
                report(
                    .dataOfPushToApp, place, rule.id,
                    "Kii sends no data with a Push to App, so \(key) is missing and names no message of the rule "
                        + "\(name(rule)); leave 'dedupe' out")
            } else if let earlier = passing.covering(ComparedRule(rule.criteria)) {
                report(
                    .unusedID, rule, at: place, behind: earlier,
                    "the id of the rule \(name(rule)) never counts: the first rule that takes a message names it, and "
                        + "the earlier rule \(self.place(of: earlier)) takes all of these; write 'dedupe' there")
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
