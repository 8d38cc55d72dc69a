// Finds tests that cannot pass, or that check nothing; only a run tells whether the others pass.

import KiiPush

extension RulesLint {
    mutating func checkTests() {
        var rulesByID: [ExactText: Int] = [:]
        for (number, rule) in rules.rules.enumerated() { rulesByID[ExactText(rule.id)] = number }
        let handlers = Set(rules.rules.map { ExactText($0.handlerName) })
        var firsts: [ExactText: SourcePosition] = [:]
        for test in rules.tests {
            let name = "'\(Suggestion.shown(test.name))'"
            if let first = firsts[ExactText(test.name)] {
                report(
                    .repeatedTestName, test.position, nil,
                    "a second test \(name); the first is at \(first), and no report tells them apart: rename one",
                    related: [RuleFinding.Related(position: first, what: "the first test \(name)")])
            } else {
                firsts[ExactText(test.name)] = test.position
            }
            if test.steps.isEmpty {
                report(.emptyTest, test.position, nil, "the test \(name) has no steps, and fails; add some, or drop it")
            }
            for step in test.steps {
                guard case .receive(let incoming) = step.action else { continue }
                if let transport = incoming.transport?.name { check(transport: transport, step) }
                guard let expect = step.expect, !expect.isEmpty else {
                    report(
                        .emptyTest, step.position, nil,
                        "the step expects nothing of its payload, and fails; state the expected outcome")
                    continue
                }
                check(expect, rulesByID, handlers)
            }
        }
    }

    /// A program's own transport appears in its rules too; a name close to a known one is reported in any case.
    private mutating func check(transport: String, _ step: RuleTestStep) {
        guard !Self.transports.contains(where: transport.isExactly), transport != Transport.gap.name else { return }
        let isNear = Suggestion.of(transport, among: Self.transports) != nil
        guard isNear || !rules.rules.contains(where: { $0.criteria.names(transport) }) else {
            return
        }
        report(
            .unknownTransport, step.transportPosition ?? step.position, nil,
            Suggestion.unknown("transport", transport, known: Self.transports)
                + (isNear ? "" : "; no rule asks for it either"))
    }

    private mutating func check(
        _ expect: RuleExpectation, _ rulesByID: [ExactText: Int], _ handlers: Set<ExactText>
    ) {
        func place(_ key: String) -> SourcePosition { expect.positions[key] ?? expect.position }
        func fail(_ key: String, _ what: String) { report(.impossibleTest, place(key), nil, what) }
        let outcome = expect.outcome
        if let layer = expect.layer, let outcome, outcome != "looped" {
            fail("layer", "the outcome '\(outcome)' has no layer ('\(layer)'); only 'looped' has one")
        }
        if expect.code != nil, let outcome, outcome != "undecodable" {
            fail("code", "the outcome '\(outcome)' has no code; only 'undecodable' has one")
        }
        if outcome == "undecodable",
            let key = ["rules", "handlers", "kind", "certainty"].first(where: { (key: String) -> Bool in
                switch key {
                case "rules": expect.rules?.isEmpty == false
                case "handlers": expect.handlers?.isEmpty == false
                default: expect.positions[key] != nil
                }
            })
        {
            fail(key, "what is undecodable has no '\(key)'; leave it out")
        }
        if outcome == "handled", expect.handlers?.isEmpty == true || expect.rules?.isEmpty == true {
            fail(
                "outcome", "a message that no handler ran for is not 'handled'; expect 'unrouted', or name the handlers"
            )
        }
        if outcome == "expired" { checkExpired(expect, rulesByID, place: place) }
        checkRules(expect, rulesByID, handlers)
    }

    /// A message expires only under a rule with a limit, and only before its handler is called.
    private mutating func checkExpired(
        _ expect: RuleExpectation, _ rulesByID: [ExactText: Int], place: (String) -> SourcePosition
    ) {
        if let handlers = expect.handlers, !handlers.isEmpty {
            report(
                .impossibleTest, place("handlers"), nil,
                "a message that a handler was called with does not end as 'expired'; expect no handlers")
        }
        let numbers = expect.rules?.compactMap { rulesByID[ExactText($0)] }
        let takers = numbers.map { numbers in numbers.map { rules.rules[$0] } } ?? rules.rules
        guard !takers.contains(where: { rules.maxAge(of: $0) != nil }) else { return }
        let what = numbers == nil ? "no rule has" : "none of the expected rules has"
        report(
            .impossibleTest, place("outcome"), nil,
            "\(what) a 'maxAge' in its 'delivery', so the message does not end as 'expired'")
    }

    private mutating func checkRules(
        _ expect: RuleExpectation, _ rulesByID: [ExactText: Int], _ handlers: Set<ExactText>
    ) {
        let rulesPlace = expect.positions["rules"] ?? expect.position
        for handler in expect.handlers ?? [] where !handlers.contains(ExactText(handler)) {
            let known = handlers.map(\.text).sorted()
            report(
                .impossibleTest, expect.positions["handlers"] ?? expect.position, nil,
                Suggestion.unknown("handler", handler, known: known))
        }
        var numbers: [Int] = []
        for id in expect.rules ?? [] {
            guard let number = rulesByID[ExactText(id)] else {
                report(
                    .impossibleTest, rulesPlace, nil,
                    Suggestion.unknown("rule", id, known: rules.rules.map(\.id)))
                continue
            }
            numbers.append(number)
        }
        for number in numbers where unmatched.contains(number) {
            report(
                .impossibleTest, rulesPlace, rules.rules[number].id,
                "the rule \(name(rules.rules[number])) takes no message, so no test can expect it")
        }
        for (number, next) in zip(numbers, numbers.dropFirst()) {
            let rule = rules.rules[number]
            if next <= number {
                report(
                    .impossibleTest, rulesPlace, rule.id,
                    "rules take a message in the order of the file, and \(name(rules.rules[next])) comes before "
                        + "\(name(rule))"
                )
            } else if rule.flow == .stop {
                report(
                    .impossibleTest, rulesPlace, rule.id,
                    "no rule takes a message behind \(name(rule)), which has no \"continue\": true")
            }
        }
        if let kind = expect.kind, let number = numbers.first(where: { !profiles[$0].kinds.contains(KindSet(kind)) }) {
            report(
                .impossibleTest, expect.positions["kind"] ?? expect.position, rules.rules[number].id,
                "the rule \(name(rules.rules[number])) takes no \(kind)")
        }
    }
}

extension RouteCriteria {
    /// Whether a condition, also one inside others, matches the transport.
    fileprivate func names(_ name: String) -> Bool {
        transport?.matches(name) == true || groups.contains { $0.parts.contains { $0.names(name) } }
    }
}
