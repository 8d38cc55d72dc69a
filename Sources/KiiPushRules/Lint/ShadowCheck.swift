// Rules that earlier rules shadow, and deduplication keys that never count.

public import KiiPush

/// Finds an earlier rule that matches everything that a rule matches.
struct EarlierRules {
    private var rules: [(number: Int, profile: RuleProfile)] = []
    /// The rules by what one of their conditions lists; under nil, those without such a condition.
    private var byText: [ExactText?: [Int]] = [:]
    /// The most pairs of texts of two rules that are still compared.
    private var pairsLeft = 500_000

    /// Whether all were compared.
    var isComplete: Bool { pairsLeft > 0 }

    /// The first rule that matches everything that a rule matches.
    mutating func covering(_ rule: RuleProfile) -> Int? {
        let candidates = ([nil] + rule.lists.map(\.first)).flatMap { byText[$0] ?? [] }
        for index in candidates.sorted() where pairsLeft > 0 {
            pairsLeft -= rule.size * rules[index].profile.size
            if rules[index].profile.covers(rule) { return rules[index].number }
        }
        return nil
    }

    /// Adds a rule, behind all others.
    mutating func add(_ number: Int, _ rule: RuleProfile) {
        func shared(_ list: [ExactText]) -> Int { list.reduce(0) { max($0, byText[$1]?.count ?? 0) } }
        // By the condition that the fewest rules have, so that few are compared.
        let list: [ExactText?] = rule.lists.min { shared($0) < shared($1) } ?? [nil]
        for text in list { byText[text, default: []].append(rules.count) }
        rules.append((number, rule))
    }
}

extension PushReceiver {
    /// The routes that never get a message, each with the earlier one that takes them all; rules and code alike.
    ///
    /// None is named by mistake. Of very many routes, not all are compared.
    public var shadowedRoutes: [(id: String, behind: String)] {
        var closed = EarlierRules()
        var shadowed: [(id: String, behind: String)] = []
        let routes = routes
        for (number, route) in routes.enumerated() {
            let profile = RuleProfile(route.criteria)
            if let earlier = closed.covering(profile) {
                shadowed.append((route.id, routes[earlier].id))
            } else if route.options.flow == .stop {
                closed.add(number, profile)
            }
        }
        return shadowed
    }
}

extension RulesLint {
    /// Finds rules whose messages an earlier rule takes, and rules that do the same twice with the same messages.
    mutating func checkShadows() {
        var closed = EarlierRules()
        var byAction: [RoutingRule.Action: EarlierRules] = [:]
        for (number, rule) in rules.rules.enumerated() where !dead.contains(number) {
            let profile = profiles[number]
            if let earlier = closed.covering(profile) {
                dead.insert(number)
                report(
                    .shadowed, rule, behind: earlier,
                    "the rule \(name(rule)) never takes a message: the earlier rule \(place(of: earlier)) takes them "
                        + "all; put it before, or give that one \"continue\": true")
                continue
            }
            if let earlier = byAction[rule.action]?.covering(profile) {
                report(
                    .sameRule, rule, behind: earlier,
                    "the rule \(name(rule)) does the same as \(place(of: earlier)), which takes its messages too, so "
                        + "they are handled twice; leave one out")
            }
            if rule.options.flow == .stop { closed.add(number, profile) }
            byAction[rule.action, default: EarlierRules()].add(number, profile)
        }
        if !closed.isComplete || byAction.values.contains(where: { !$0.isComplete }) {
            reportIncomplete("rules with earlier ones")
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
            let profile = profiles[number]
            defer { if rule.options.flow == .continue { passing.add(number, profile) } }
            guard let dedupe = rule.options.dedupe, let place = rule.dedupePosition else { continue }
            let key = "'\(Suggestion.shown(dedupe.key))'"
            if let why = neverCounts(dedupe, rule) {
                report(.unusedID, place, rule.id, "the rule \(name(rule)) never finds an id in \(key): \(why)")
            } else if profile.hasNoData {
                report(
                    .dataOfPushToApp, place, rule.id,
                    "Kii sends no data with a Push to App, so \(key) is missing and names no message of the rule "
                        + "\(name(rule)); leave 'dedupe' out")
            } else if let earlier = passing.covering(profile) {
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
