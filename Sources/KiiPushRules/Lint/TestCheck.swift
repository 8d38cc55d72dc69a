// Finds tests that check nothing; a run tells whether the others pass.

import KiiPush

extension RulesLint {
    mutating func checkTests() {
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
                guard step.expect?.isEmpty != false else { continue }
                report(
                    .emptyTest, step.position, nil,
                    "the step expects nothing of its payload, and fails; state the expected outcome")
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
}

extension RouteCriteria {
    /// Whether a condition, also one inside others, matches the transport.
    fileprivate func names(_ name: String) -> Bool {
        transport?.matches(name) == true || groups.contains { $0.parts.contains { $0.names(name) } }
    }
}
