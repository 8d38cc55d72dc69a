// The cloud actions of rules: pushes that Kii would refuse, and values that a message may lack.

import KiiCloud
import KiiPush

extension RulesLint {
    mutating func checkCloud() {
        for (number, rule) in rules.rules.enumerated() {
            if case .send(let push) = rule.action { check(push, of: rule) }
            let fields = rule.filledFields
            if fields.isEmpty { continue }
            let required = Self.requiredFields(rule.criteria)
            let stated = Dictionary(rule.criteria.data.map { (ExactText($0.key), $0.predicate) }) { first, _ in first }
            for field in fields where !required.contains(ExactText(field.name)) {
                report(
                    .missingValue, rule.actionPosition, rule.id,
                    "the rule \(name(rule)) fills in \(Suggestion.shown(field.name)), and matches messages without it, "
                        + "which then fail; \(advice(field, rule.criteria, stated, profiles[number]))")
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

    /// The names of the fields that every message has that meets these conditions.
    private static func requiredFields(_ criteria: RouteCriteria) -> Set<ExactText> {
        // Kii's servers always send both, though an APNs payload may be cut.
        var required: [RuleField.Property] = [.event, .when]
        if criteria.bucket != nil || criteria.object != nil { required.append(.bucket) }
        if criteria.object != nil { required.append(.object) }
        if criteria.topic != nil { required.append(.topic) }
        if criteria.sender != nil { required.append(.senderID) }
        let hasOwner = PossibleScope.all(of: criteria)?.allSatisfy {
            $0.kind != .app && $0.kind != .unknown && !$0.mayLackID
        }
        if criteria.scopeID != nil || hasOwner == true { required.append(.scopeID) }
        var names = Set(required.map { ExactText($0.rawValue) })
        for condition in criteria.data where !DataSample.missing.meets(condition.predicate) {
            names.insert(ExactText(RouteDedupe.prefix + condition.root))
        }
        for group in criteria.groups {
            let parts = group.parts.map(requiredFields)
            switch group.combining {
            case .any: names.formUnion(parts.dropFirst().reduce(parts.first ?? []) { $0.intersection($1) })
            case .all: names.formUnion(parts.joined())
            case .not: break
            }
        }
        return names
    }

    /// How to match only messages that have the value, or why there is none; `stated` has the conditions on the data.
    private func advice(
        _ field: RuleField, _ criteria: RouteCriteria, _ stated: [ExactText: DataPredicate], _ profile: RuleProfile
    ) -> String {
        let key: String
        switch field.source {
        case .data(let name): key = name
        case .message(let property):
            var criteria = criteria
            let condition = property == .senderID ? "sender" : property.rawValue
            if let pattern = WhenCondition(rawValue: condition)?.pattern { criteria[keyPath: pattern.path] = .any }
            return RuleProfile(criteria).isEmpty
                ? "none of them has it: fill in another field" : "add \"\(condition)\": \"*\" to 'when'"
        }
        if let never = neverThere(key) { return "it \(never): fill in another field" }
        if profile.hasNoData {
            return "Kii sends no data with a Push to App: read the object's fields in a handler"
        }
        if key.utf8.contains(UInt8(ascii: ".")) {
            return "a dot does not look into a value: send the value under a key of its own, and fill that in"
        }
        guard let stated = stated[ExactText(key)] else {
            // A longer line would not help.
            let name = key.utf8.count <= 200 ? key.quotedAsJSON : "its key"
            return "add \(name): {\"exists\": true} to 'data' in 'when'"
        }
        return DataPredicate.all([stated, .exists()]).neverHolds
            ? "its 'data' asks that the field is missing" : "add \"exists\": true to what 'data' asks of it"
    }
}
