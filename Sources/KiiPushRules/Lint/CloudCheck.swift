// The cloud actions of rules: pushes that Kii would refuse, and values that a message may lack.

import KiiCloud
import KiiPush

extension RulesLint {
    mutating func checkCloud() {
        for (number, rule) in rules.rules.enumerated() {
            if case .send(let push) = rule.action { check(push, of: rule) }
            for field in rule.filledFields where !isThere(field, profiles[number]) { reportMissing(field, rule) }
        }
    }

    // MARK: Pushes

    private mutating func check(_ push: RuleSend, of rule: RoutingRule) {
        var writer = JSONWriter()
        writer.value(push.message.source)
        guard let topic = push.topic.uri.topic, let message = try? OutgoingMessage(body: writer.text) else { return }
        let address = PushAddress(
            app: rules.app ?? "00000000", topic: topic, sender: push.sender, sentAt: 1_700_000_000_000)
        for problem in message.problems(sentTo: address) where !problem.isWarning {
            // A size that depends on placeholders is known only with a message.
            if problem.code == .tooLarge, !rule.filledFields.isEmpty { continue }
            if problem.code == .notAllowed, !push.topic.fields.isEmpty { continue }
            let place = problem.path.isEmpty ? "" : "\(problem.path): "
            report(
                .refusedPush, rule.actionPosition, rule.id,
                "Kii refuses the push of the rule \(name(rule)): \(place)\(problem.message)")
        }
    }

    // MARK: Values

    /// Whether every message that the rule matches has the value.
    private func isThere(_ field: RuleField, _ profile: RuleProfile) -> Bool {
        let criteria = profile.criteria
        switch field.source {
        case .data(let key):
            return criteria.data.contains { $0.key.isExactly(key) && !DataSample.missing.meets($0.predicate) }
        case .bucket: return criteria.bucket != nil || criteria.object != nil
        case .object: return criteria.object != nil
        case .topic: return criteria.topic != nil
        case .scopeID:
            return criteria.scopeID != nil
                || profile.scopes?.allSatisfy { $0.kind != .app && $0.kind != .unknown && !$0.mayLackID } == true
        case .senderID: return criteria.sender != nil
        // Kii's servers always send both, though an APNs payload may be cut.
        case .event, .when: return true
        }
    }

    private mutating func reportMissing(_ field: RuleField, _ rule: RoutingRule) {
        let shown = Suggestion.shown(field.name)
        let advice: String =
            if case .data(let key) = field.source {
                "add \"data\": {\(Suggestion.shown(key.quotedAsJSON)): {\"exists\": true}} to 'when'"
            } else if case .senderID = field.source {
                "add \"sender\": \"*\" to 'when'"
            } else {
                "add \"\(shown)\": \"*\" to 'when'"
            }
        report(
            .missingValue, rule.actionPosition, rule.id,
            "the rule \(name(rule)) fills in \(shown), and matches messages without it, which then fail; \(advice)")
    }
}
