// Rules that earlier rules shadow.

import KiiPush

extension RulesLint {
    mutating func checkShadows() {
        let dead = dead
        var check = ShadowCheck(profiles) { rules.rules[$0].flow == .stop && !dead.contains($0) }
        for number in rules.rules.indices where !dead.contains(number) {
            let rule = rules.rules[number]
            if let shadow = check.shadow(of: number) {
                self.dead.insert(number)
                unmatched.insert(number)
                report(shadow, of: rule, number)
            } else {
                for text in check.deadTexts(of: number).prefix(3) { report(text, of: rule) }
            }
        }
        checkSameRules()
        if !check.isComplete { reportIncomplete("rules with all earlier ones") }
    }

    private mutating func report(_ shadow: ShadowCheck.Shadow, of rule: RoutingRule, _ number: Int) {
        let earlier = shadow.rules.map { rules.rules[$0] }
        let names = earlier.prefix(4).map { "\(name($0)) (\($0.position))" }.joined(separator: ", ")
        let more = earlier.count > 4 ? " and \(earlier.count - 4) more" : ""
        let isSame = shadow.isWhole && profiles[number].covers(profiles[shadow.rules[0]])
        let what =
            earlier.count == 1
            ? isSame
                ? "the earlier rule \(names) has the same conditions and takes them all"
                : "the earlier rule \(names) takes them all"
            : "the earlier rules \(names)\(more) take them all between them"
        report(
            .shadowed, rule.position, rule.id,
            "the rule \(name(rule)) never takes a message: \(what); put it before, or give "
                + "\(earlier.count == 1 ? "that one" : "those") \"continue\": true",
            related: earlier.map { RuleFinding.Related(position: $0.position, what: "the rule \(name($0))") })
    }

    private mutating func report(_ dead: (condition: WhenCondition, index: Int, rule: Int), of rule: RoutingRule) {
        let earlier = rules.rules[dead.rule]
        report(
            .partlyShadowed, position(dead.condition.rawValue, of: rule), rule.id,
            "of the list of '\(dead.condition.rawValue)' the text \(dead.index + 1) does nothing: the earlier rule "
                + "\(name(earlier)) (\(earlier.position)) takes its messages; leave it out, or put the rule "
                + "\(name(rule)) before",
            related: [RuleFinding.Related(position: earlier.position, what: "the rule \(name(earlier))")])
    }

    /// Finds rules that call one handler twice with the same messages.
    private mutating func checkSameRules() {
        struct Effect: Hashable {
            let conditions: ExactText
            let action: RoutingRule.Action
        }
        var first: [Effect: Int] = [:]
        for (number, rule) in rules.rules.enumerated() where !dead.contains(number) {
            var writer = JSONWriter()
            rule.criteria.write(to: &writer)
            let effect = Effect(conditions: ExactText(writer.text), action: rule.action)
            guard let earlier = first[effect] else {
                first[effect] = number
                continue
            }
            let other = rules.rules[earlier]
            report(
                .sameRule, rule.position, rule.id,
                "the rule \(name(rule)) does the same as \(name(other)) (\(other.position)) for the same messages, so "
                    + "they are handled twice; leave one out",
                related: [RuleFinding.Related(position: other.position, what: "the rule \(name(other))")])
        }
    }
}
