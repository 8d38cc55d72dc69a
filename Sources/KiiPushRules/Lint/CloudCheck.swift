// The cloud actions of rules: pushes that Kii would refuse, and values that a message may lack.

import KiiCloud
import KiiPush

extension RulesLint {
    mutating func checkCloud() {
        for (number, rule) in rules.rules.enumerated() {
            if case .send(let push) = rule.action { check(push, of: rule) }
            for field in rule.filledFields where !isThere(field, profiles[number]) {
                report(
                    .missingValue, rule.actionPosition, rule.id,
                    "the rule \(name(rule)) fills in \(Suggestion.shown(field.name)), and matches messages without it, "
                        + "which then fail; \(advice(field, rule, profiles[number]))")
            }
        }
    }

    // MARK: Pushes

    private mutating func check(_ push: RuleSend, of rule: RoutingRule) {
        guard let topic = push.topic.uri.topic,
            let message = try? OutgoingMessage(body: push.message.source.jsonText)
        else { return }
        let address = PushAddress(
            app: rules.app ?? "00000000", topic: topic, sender: push.sender, sentAt: 1_700_000_000_000)
        for problem in message.problems(sentTo: address) where !problem.isWarning {
            // A size that depends on placeholders is known only with a message.
            if problem.code == .tooLarge, !rule.filledFields.isEmpty { continue }
            if [.notAllowed, .impossibleName].contains(problem.code), !push.topic.fields.isEmpty { continue }
            let place = problem.path.isEmpty ? "" : "\(problem.path): "
            report(
                .refusedPush, rule.actionPosition, rule.id,
                "Kii refuses the push of the rule \(name(rule)): \(place)\(problem.message)")
        }
    }

    // MARK: Values

    /// Whether every message that the rule matches has the value.
    private func isThere(_ field: RuleField, _ profile: RuleProfile) -> Bool {
        isRequired(field, profile)
            || profile.criteria.groups.contains { group in
                let parts = group.parts.map { isThere(field, RuleProfile($0)) }
                return switch group.combining {
                case .any: !parts.contains(false)
                case .all: parts.contains(true)
                case .not: false
                }
            }
    }

    private func isRequired(_ field: RuleField, _ profile: RuleProfile) -> Bool {
        let criteria = profile.criteria
        switch field.source {
        case .data(let key):
            return criteria.data.contains { $0.root.isExactly(key) && !DataSample.missing.meets($0.predicate) }
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

    /// How to match only messages that have the value, as a text to paste; or why there is none.
    private func advice(_ field: RuleField, _ rule: RoutingRule, _ profile: RuleProfile) -> String {
        guard case .data(let key) = field.source else {
            var criteria = rule.criteria
            let condition = criteria.require(field.source)
            return RuleProfile(criteria).isEmpty
                ? "none of them has it: fill in another field" : placed("\"\(condition)\": \"*\"", rule)
        }
        if let never = neverThere(key) { return "it \(never): fill in another field" }
        if profile.kinds == KindSet(.pushToApp) {
            return "Kii sends no data with a Push to App: read the object's fields in a handler"
        }
        if key.utf8.contains(UInt8(ascii: ".")) {
            return "a dot does not look into a value: send the value under a key of its own, and fill that in"
        }
        var required = DataPredicate.exists()
        let present = rule.criteria.data.first { $0.key.isExactly(key) }
        if let present {
            if DataPredicate.all([present.predicate, required]).neverHolds {
                return "its 'data' asks that the field is missing"
            }
            required = .all([required, present.predicate])
        }
        var writer = JSONWriter()
        required.write(to: &writer)
        let condition = "\(key.quotedAsJSON): \(writer.text)"
        guard condition.utf8.count <= 400 else { return "require the field in 'when'" }
        if present != nil { return "write \(condition) in 'data'" }
        return rule.criteria.data.isEmpty ? placed("\"data\": {\(condition)}", rule) : "add \(condition) to 'data'"
    }

    /// A condition with the place where it belongs.
    private func placed(_ condition: String, _ rule: RoutingRule) -> String {
        rule.conditions.isEmpty ? "write \"when\": {\(condition)} in the rule" : "add \(condition) to 'when'"
    }
}

extension RouteCriteria {
    /// Requires a field that is not one of the data; returns its condition's key.
    fileprivate mutating func require(_ source: RuleField.Source) -> String {
        switch source {
        case .bucket:
            bucket = .any
            return "bucket"
        case .object:
            object = .any
            return "object"
        case .topic:
            topic = .any
            return "topic"
        case .scopeID:
            scopeID = .any
            return "scopeID"
        case .senderID, .data, .event, .when: return "sender"
        }
    }
}
