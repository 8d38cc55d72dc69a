// Rules that earlier rules shadow: those with the same conditions, and those behind a rule without conditions.

import KiiPush

/// Finds an earlier rule that matches everything that a rule matches: one with the same conditions, or without any.
///
/// Conditions are the same if the rules file writes them with the same text; patterns and ranges are not compared.
struct EarlierRules {
    private var byConditions: [ExactText: Int] = [:]
    /// The rules without conditions, except on the certainty.
    private var open: [(number: Int, certainty: [Certainty])] = []

    /// The first rule with the same conditions.
    func same(_ criteria: RouteCriteria) -> Int? { byConditions[criteria.text] }

    /// The first rule that matches everything that these conditions match.
    func covering(_ criteria: RouteCriteria) -> Int? {
        let open = criteria.isGap ? nil : open.first { criteria.certainty.allSatisfy($0.certainty.contains) }?.number
        return [same(criteria), open].compactMap(\.self).min()
    }

    /// Adds a rule, behind all others.
    mutating func add(_ number: Int, _ criteria: RouteCriteria) {
        if same(criteria) == nil { byConditions[criteria.text] = number }
        var unconditional = RouteCriteria()
        unconditional.certainty = criteria.certainty
        if criteria == unconditional { open.append((number, criteria.certainty)) }
    }
}

extension RouteCriteria {
    fileprivate var text: ExactText {
        var writer = JSONWriter()
        write(to: &writer)
        return ExactText((isGap ? "gap " : "") + writer.text)
    }
}

extension RulesLint {
    /// Finds rules whose messages an earlier rule takes, and rules that do the same twice with the same messages.
    mutating func checkShadows() {
        var closed = EarlierRules()
        var byAction: [RoutingRule.Action: EarlierRules] = [:]
        for (number, rule) in rules.rules.enumerated() where !dead.contains(number) {
            if let earlier = closed.covering(rule.criteria) {
                let isSame = closed.same(rule.criteria) == earlier
                dead.insert(number)
                unmatched.insert(number)
                report(
                    .shadowed, rule, behind: earlier,
                    "the rule \(name(rule)) never takes a message: the earlier rule \(place(of: earlier)) "
                        + "\(isSame ? "has the same conditions and " : "")takes them all; put it before, or give that "
                        + "one \"continue\": true")
                continue
            }
            if let earlier = byAction[rule.action]?.same(rule.criteria) {
                report(
                    .sameRule, rule, behind: earlier,
                    "the rule \(name(rule)) does the same as \(place(of: earlier)) for the same messages, so they are "
                        + "handled twice; leave one out")
            }
            if rule.flow == .stop { closed.add(number, rule.criteria) }
            byAction[rule.action, default: EarlierRules()].add(number, rule.criteria)
        }
    }

    private func place(of number: Int) -> String { "\(name(rules.rules[number])) (\(rules.rules[number].position))" }

    private mutating func report(_ code: RuleFinding.Code, _ rule: RoutingRule, behind number: Int, _ what: String) {
        let earlier = rules.rules[number]
        report(
            code, rule.position, rule.id, what,
            related: [RuleFinding.Related(position: earlier.position, what: "the rule \(name(earlier))")])
    }
}
