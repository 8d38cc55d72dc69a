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
        guard isNear || !rules.rules.contains(where: { $0.criteria.names(transport) }) else { return }
        report(
            .unknownTransport, step.transportPosition ?? step.position, nil,
            Suggestion.unknown("transport", transport, known: Self.transports)
                + (isNear ? "" : "; no rule asks for it either"))
    }

    private mutating func check(_ expect: RuleExpectation, _ rulesByID: [ExactText: Int], _ handlers: Set<ExactText>) {
        let outcome = expect.outcome
        if let layer = expect.layer, let outcome, outcome != "looped" {
            fail(expect, "layer", "the outcome '\(outcome)' has no layer ('\(layer)'); only 'looped' has one")
        }
        if expect.code != nil, let outcome, outcome != "undecodable" {
            fail(expect, "code", "the outcome '\(outcome)' has no code; only 'undecodable' has one")
        }
        if outcome == "quarantined" {
            fail(expect, "outcome", "only a service ends a message as 'quarantined', and a test has none; leave it out")
        }
        if outcome == "undecodable" {
            let stated = [
                ("rules", expect.rules?.isEmpty == false), ("handlers", expect.handlers?.isEmpty == false),
                ("kind", expect.kind != nil), ("certainty", expect.certainty != nil),
            ]
            if let key = stated.first(where: \.1)?.0 {
                fail(expect, key, "what is undecodable has no '\(key)'; leave it out")
            }
        }
        if outcome == "handled", expect.handlers?.isEmpty == true || expect.rules?.isEmpty == true {
            fail(
                expect, "outcome",
                "a message that no handler ran for is not 'handled'; expect 'unrouted', or name the handlers")
        }
        let numbers = expect.rules?.compactMap { rulesByID[ExactText($0)] }
        if outcome == "expired" {
            // A message expires only under a rule with a limit, and only before its handler is called.
            if expect.handlers?.isEmpty == false {
                fail(
                    expect, "handlers",
                    "a message that a handler was called with does not end as 'expired'; expect no handlers")
            }
            let takers = numbers.map { $0.map { rules.rules[$0] } } ?? rules.rules
            if !takers.contains(where: { rules.maxAge(of: $0) != nil }) {
                let what = numbers == nil ? "no rule has" : "none of the expected rules has"
                fail(
                    expect, "outcome", "\(what) a 'maxAge' in its 'delivery', so the message does not end as 'expired'")
            }
        }
        for handler in expect.handlers ?? [] where !handlers.contains(ExactText(handler)) {
            fail(expect, "handlers", Suggestion.unknown("handler", handler, known: handlers.map(\.text).sorted()))
        }
        for id in expect.rules ?? [] where rulesByID[ExactText(id)] == nil {
            fail(expect, "rules", Suggestion.unknown("rule", id, known: rules.rules.map(\.id)))
        }
        check(numbers ?? [], expect)
    }

    /// Checks the rules that are expected to take a message, by their numbers.
    private mutating func check(_ numbers: [Int], _ expect: RuleExpectation) {
        for number in numbers where unmatched.contains(number) {
            let rule = rules.rules[number]
            fail(expect, "rules", "the rule \(name(rule)) takes no message, so no test can expect it", rule)
        }
        for (number, next) in zip(numbers, numbers.dropFirst()) {
            let rule = rules.rules[number]
            if next <= number {
                fail(
                    expect, "rules",
                    "rules take a message in the order of the file, and \(name(rules.rules[next])) comes before "
                        + "\(name(rule))", rule)
            } else if rule.options.flow == .stop {
                fail(
                    expect, "rules", "no rule takes a message behind \(name(rule)), which has no \"continue\": true",
                    rule)
            }
        }
        if let kind = expect.kind, let number = numbers.first(where: { !profiles[$0].kinds.contains(KindSet(kind)) }) {
            fail(expect, "kind", "the rule \(name(rules.rules[number])) takes no \(kind)", rules.rules[number])
        }
    }

    /// Reports an expectation, at one of its keys.
    private mutating func fail(
        _ expect: RuleExpectation, _ key: String, _ what: String, _ rule: RoutingRule? = nil
    ) {
        report(.impossibleTest, expect.positions[key] ?? expect.position, rule?.id, what)
    }
}

extension RouteCriteria {
    /// Whether a condition, also one inside others, matches the transport.
    fileprivate func names(_ name: String) -> Bool {
        transport?.matches(name) == true || groups.contains { $0.parts.contains { $0.names(name) } }
    }
}
