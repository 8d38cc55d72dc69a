// Checks the conditions of each rule by itself.

import KiiPush

extension RulesLint {
    mutating func checkConditions(_ rule: RoutingRule, _ number: Int) {
        let profile = profiles[number]
        let before = findings.count
        checkKinds(rule, profile)
        checkScopes(rule, profile)
        checkSender(rule)
        checkData(rule, profile)
        let found = findings[before...].map(\.code)
        if found.contains(where: { $0.severity == .error }) { dead.insert(number) }
        if found.contains(.neverMatches) { unmatched.insert(number) }
        checkNames(rule, profile)
        checkKiiNames(rule)
        checkTargets(rule)
        checkRun(rule)
        guard checkParts(rule, profile.kinds) else { return }
        dead.insert(number)
        unmatched.insert(number)
    }

    // MARK: Kind

    mutating func checkKinds(_ rule: RoutingRule, _ profile: RuleProfile) {
        let criteria = rule.criteria
        if criteria.kinds.isEmpty {
            report(
                .neverMatches, position("kind", of: rule), rule.id,
                "\(subject(rule)) never matches: the conditions around it require another kind; leave it out")
            return
        }
        let ofApp = criteria.bucket != nil ? "bucket" : criteria.object != nil ? "object" : nil
        if let ofApp, criteria.topic != nil {
            let later = max(position(ofApp, of: rule), position("topic", of: rule))
            report(
                .neverMatches, later, rule.id,
                "\(subject(rule)) never matches: only a Push to App has '\(ofApp)', and only a Push to User has "
                    + "'topic'; make two rules of it"
            )
            return
        }
        let ofDirect = [("format", criteria.format), ("type", criteria.type), ("command", criteria.command)]
            .first { $0.1 != nil }?.0
        let ofKinds = [
            (ofApp, PushKind.pushToApp), (criteria.topic.map { _ in "topic" }, .pushToUser), (ofDirect, .directPush),
        ]
        for (condition, kind) in ofKinds {
            guard let condition, !criteria.kinds.contains(KindSet(kind)) else { continue }
            report(
                .neverMatches, position(condition, of: rule), rule.id,
                "\(subject(rule)) never matches: only a \(kind) has '\(condition)', and 'kind' requires another; "
                    + "leave one of them out"
            )
            return
        }
        let scope = criteria.scope != nil ? "scope" : criteria.scopeID != nil ? "scopeID" : nil
        if let scope, profile.kinds.isEmpty {
            report(
                .neverMatches, position(scope, of: rule), rule.id,
                "\(subject(rule)) never matches: a Direct Push that has such a '\(scope)' is ambiguous; leave it out, "
                    + "or write \"certainty\": \(Self.list(criteria.certainty + [.ambiguous]))"
            )
        } else if profile.kinds.isEmpty || profile.certainty == 0 {
            report(
                .neverMatches, position("certainty", of: rule), rule.id,
                "\(subject(rule)) never matches: only a Direct Push and a Push to User without its topic are "
                    + "'likely', other messages are 'certain' or 'ambiguous'; write \"certainty\": \"certain\""
            )
        }
        let stated = rule.conditions.contains { $0.name == "kind" }
        if stated, criteria.kinds == .all {
            report(
                .alwaysHolds, position("kind", of: rule), rule.id,
                "every message is of one of these kinds; leave 'kind' out")
        }
    }

    private static func list(_ certainties: [Certainty]) -> String {
        "[\(certainties.map(\.rawValue.quotedAsJSON).joined(separator: ", "))]"
    }

    // MARK: Scope and sender

    mutating func checkScopes(_ rule: RoutingRule, _ profile: RuleProfile) {
        guard let scopes = profile.scopes else { return }
        if PossibleScope.hasTooManyPairs(rule.criteria) { hasComparedScopes = false }
        guard !scopes.isEmpty else {
            let fault = rule.criteria.scopeID == nil ? "scope" : "scopeID"
            report(
                .neverMatches, position(fault, of: rule), rule.id,
                "\(subject(rule)) never matches: no scope listed in 'scope' has such an id; the app's scope has "
                    + "no id"
            )
            return
        }
        guard served?.mayServe(oneOf: scopes) == false else { return }
        let fault = rule.criteria.scope == nil ? "scopeID" : "scope"
        report(
            .notServed, position(fault, of: rule), rule.id,
            "\(subject(rule)) never matches: 'serving' lists none of its scopes, so its messages are refused; "
                + "add the scope there, or remove the rule"
        )
    }

    mutating func checkSender(_ rule: RoutingRule) {
        guard let sender = rule.criteria.sender, !sender.alternatives.isEmpty else { return }
        let isOwn = sender.alternatives.allSatisfy { alternative in
            guard let texts = alternative.id.exactTexts else { return false }
            return texts.allSatisfy { text in
                me[ExactText(text)]?.contains { SenderPattern([alternative]).takes($0) } == true
            }
        }
        guard isOwn else { return }
        report(
            .onlyOwnMessages, position("sender", of: rule), rule.id,
            "\(subject(rule)) never runs: its senders are identities of 'me', whose messages the loop guard "
                + "drops; remove them from 'me', or match another sender"
        )
    }

    // MARK: Data

    mutating func checkData(_ rule: RoutingRule, _ profile: RuleProfile) {
        guard !rule.criteria.data.isEmpty else { return }
        let places = rule.places
        for condition in rule.criteria.data {
            let place = places[RoutingRule.label("data", condition.key)] ?? rule.position
            let key = "'\(Suggestion.shown(condition.key))'"
            if condition.predicate.neverHolds {
                report(
                    .neverMatches, place, rule.id,
                    "\(subject(rule)) never matches: no value of \(key) meets all that is asked of it")
            } else if condition.predicate.alwaysHolds {
                report(
                    .alwaysHolds, place, rule.id,
                    "every value of \(key) meets this, and a missing one too; leave the condition out")
            } else if let never = neverThere(condition) {
                report(
                    .neverMatches, place, rule.id, "\(subject(rule)) never matches: \(key) \(never)")
            } else if profile.kinds == KindSet(.pushToApp), !DataSample.missing.meets(condition.predicate) {
                report(
                    .dataOfPushToApp, place, rule.id,
                    "Kii sends no data with a Push to App, so \(key) is missing, and \(subject(rule)) never "
                        + "matches; match the bucket, and check the object's fields in the handler"
                )
            } else if condition.pointer == nil, condition.key.utf8.contains(UInt8(ascii: ".")),
                !DataSample.missing.meets(condition.predicate)
            {
                report(
                    .dottedKey, place, rule.id,
                    "\(key) is one key of the data: a dot does not look into a value; if the value is nested, write "
                        + Suggestion.shown(condition.key.dotsAsPointer).quotedAsJSON)
            }
        }
    }

    /// Why a key that must be present never is.
    private func neverThere(_ condition: DataCondition) -> String? {
        DataSample.missing.meets(condition.predicate) ? nil : neverThere(condition.root)
    }

    /// Why a key never appears in the data.
    func neverThere(_ key: String) -> String? {
        if key.isExactly("aps") { return "belongs to Apple, and is not data of the sender" }
        if key.isExactly(Lineage.key) { return "is the loop guard's stamp, and not data of the sender" }
        return nil
    }

    // MARK: Names

    mutating func checkNames(_ rule: RoutingRule, _ profile: RuleProfile) {
        if let events = rule.criteria.events, profile.kinds == KindSet(.pushToApp) {
            let known = KiiEvent.known.map(\.name)
            for alternative in events.alternatives
            where !known.contains(where: { TextPattern([alternative]).matches($0) }) {
                let text = RuleText(alternative).text
                report(
                    .unknownEvent, position("events", of: rule), rule.id,
                    Suggestion.unknown("event", text, known: known) + "; Kii sends no such event")
            }
        }
        guard let transport = rule.criteria.transport else { return }
        let known = Self.transports
        for text in transport.alternatives.map({ RuleText($0).text }) where !known.contains(where: text.isExactly) {
            guard let nearest = Suggestion.of(text, among: known), !text.utf8.contains(UInt8(ascii: "*")) else {
                continue
            }
            report(
                .unknownTransport, position("transport", of: rule), rule.id,
                "no transport of this SDK is called '\(Suggestion.shown(text))'; did you mean '\(nearest)'?")
        }
    }

    /// The names of the transports that deliver Kii's pushes.
    static let transports = [Transport.apns, .fcm, .jpush, .mqtt, .quickblox].map(\.name)
}

extension String {
    /// The pointer that a key with dots may mean: `/temp/value` for `temp.value` and `data.temp.value`.
    fileprivate var dotsAsPointer: String {
        let key =
            begins(exactlyWith: RouteDedupe.prefix) ? droppingFirst(bytes: RouteDedupe.prefix.utf8.count) : self
        return key.split(separator: ".", omittingEmptySubsequences: false).map { "/\(String($0).asPointerPart)" }
            .joined()
    }
}

extension KiiEvent {
    /// The events that Kii documents.
    static let known: [KiiEvent] = [
        .objectCreated, .objectUpdated, .objectDeleted, .objectBodyUpdated, .objectBodyDeleted, .objectACLModified,
        .bucketDeleted,
    ]
}
