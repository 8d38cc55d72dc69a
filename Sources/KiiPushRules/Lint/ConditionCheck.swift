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
        if findings[before...].contains(where: { $0.severity == .error }) { dead.insert(number) }
        checkNames(rule, profile)
        checkKiiNames(rule)
        checkTargets(rule)
        checkRun(rule)
        if checkParts(rule, profile.kinds) { dead.insert(number) }
    }

    // MARK: Combined conditions

    /// Checks the parts of combined conditions; returns whether one of the combined conditions surely never holds.
    private mutating func checkParts(_ rule: RoutingRule, _ kinds: KindSet) -> Bool {
        if rule.criteria.groups.isEmpty { return false }
        let around = RuleProfile(rule.criteria)
        var isNever = false
        for group in rule.criteria.groups {
            let before = findings.count
            let parts = rule.parts(of: group, kinds)
            // Of each, for a mistake in it is worth a finding anyway.
            let never = parts.map { checkPart($0, in: group.combining == .not ? nil : around) }
            switch group.combining {
            case .any where !never.contains(false), .all where never.contains(true):
                isNever = true
                guard rule.part == nil else { continue }
                reportNever(rule, group.combining.rawValue, "its '\(group.combining.rawValue)' never holds")
            case .any, .all: continue
            case .not where parts.contains { RuleProfile($0.criteria).includes(around) }:
                isNever = true
                guard rule.part == nil else { continue }
                reportNever(rule, "not", "its 'not' excludes all that its other conditions match")
            case .not:
                let isAlways = never.contains(true)
                findings = findings[..<before] + findings[before...].filter { $0.code != .neverHolds }
                guard isAlways else { continue }
                report(
                    .alwaysHolds, rule, at: "not",
                    "no message meets these conditions, so 'not' always holds; leave it out")
            }
        }
        return isNever
    }

    /// Checks one part as if it were a rule, and whether it contradicts the conditions around it, unless they are nil;
    /// returns whether it surely never holds.
    private mutating func checkPart(_ part: RoutingRule, in around: RuleProfile?) -> Bool {
        let profile = RuleProfile(part.criteria)
        let before = findings.count
        checkKinds(part, profile)
        checkScopes(part, profile)
        checkSender(part)
        checkData(part, profile)
        if let around, findings.count == before, let condition = part.conditions.first?.name,
            profile.contradicts(around)
        {
            reportNever(part, condition, "the conditions around it require something else")
        }
        let isNever = findings[before...].contains { $0.code == .neverMatches }
        for index in findings.indices[before...] where findings[index].severity == .error {
            findings[index].code = .neverHolds
        }
        checkNames(part, profile)
        checkKiiNames(part)
        return checkParts(part, profile.kinds) || isNever
    }

    // MARK: Kind

    private mutating func checkKinds(_ rule: RoutingRule, _ profile: RuleProfile) {
        let criteria = rule.criteria
        if criteria.kinds.isEmpty {
            return reportNever(rule, "kind", "the conditions around it require another kind; leave it out")
        }
        let ofDirect = [("format", criteria.format), ("type", criteria.type), ("command", criteria.command)]
            .first { $0.1 != nil }?.0
        let ofKinds: [(condition: String, kind: PushKind)] = [
            (criteria.bucket != nil ? "bucket" : criteria.object != nil ? "object" : nil, PushKind.pushToApp),
            (criteria.topic != nil ? "topic" : nil, .pushToUser), (ofDirect, .directPush),
        ].compactMap { condition, kind in condition.map { ($0, kind) } }
        if ofKinds.count > 1 {
            let (first, second) = (ofKinds[0], ofKinds[1])
            let isFirst = position(first.condition, of: rule) > position(second.condition, of: rule)
            return reportNever(
                rule, isFirst ? first.condition : second.condition,
                "only a \(first.kind) has '\(first.condition)', and only a \(second.kind) has '\(second.condition)'; "
                    + (second.kind == .directPush
                        ? "leave one of them out; what a Direct Push says is in 'data'" : "make two rules of it"))
        }
        if let (condition, kind) = ofKinds.first, !criteria.kinds.contains(KindSet(kind)) {
            return reportNever(
                rule, condition,
                "only a \(kind) has '\(condition)', and 'kind' requires another; leave one of them out")
        }
        if criteria.mqtt != nil, criteria.transport?.exactTexts?.allSatisfy(Self.lacksMQTT) == true {
            return reportNever(
                rule, "mqtt",
                "only a message over MQTT has 'mqtt', and 'transport' requires another; leave one of them out")
        }
        let scope = criteria.scope != nil ? "scope" : criteria.scopeID != nil ? "scopeID" : nil
        if let scope, profile.kinds.isEmpty {
            let certainties = (criteria.certainty + [.ambiguous]).map(\.rawValue.quotedAsJSON)
            reportNever(
                rule, scope,
                "a Direct Push that has such a '\(scope)' is ambiguous; leave it out, or write \"certainty\": "
                    + "[\(certainties.joined(separator: ", "))]")
        } else if profile.kinds.isEmpty || profile.certainty.isEmpty {
            reportNever(
                rule, "certainty",
                "only a Direct Push and a Push to User without its topic are 'likely', other messages are 'certain' "
                    + "or 'ambiguous'; write \"certainty\": \"certain\"")
        }
        if criteria.kinds == .all, rule.conditions.contains(where: { $0.name == "kind" }) {
            report(.alwaysHolds, rule, at: "kind", "every message is of one of these kinds; leave 'kind' out")
        }
    }

    private mutating func reportNever(_ rule: RoutingRule, _ condition: String, _ why: String) {
        report(.neverMatches, rule, at: condition, "\(subject(rule)) never matches: \(why)")
    }

    // MARK: Scope and sender

    private mutating func checkScopes(_ rule: RoutingRule, _ profile: RuleProfile) {
        guard let scopes = profile.scopes else { return }
        guard !scopes.isEmpty else {
            return reportNever(
                rule, rule.criteria.scopeID == nil ? "scope" : "scopeID",
                "no scope listed in 'scope' has such an id; the app's scope has no id")
        }
        guard served?.mayServe(oneOf: scopes) == false else { return }
        report(
            .notServed, rule, at: rule.criteria.scope == nil ? "scopeID" : "scope",
            "\(subject(rule)) never matches: 'serving' lists none of its scopes, so its messages are refused; add the "
                + "scope there, or remove the rule")
    }

    private mutating func checkSender(_ rule: RoutingRule) {
        guard let sender = rule.criteria.sender, !sender.alternatives.isEmpty else { return }
        let isOwn = sender.alternatives.allSatisfy { alternative in
            alternative.id.exactTexts?.allSatisfy { text in
                me[ExactText(text)]?.contains { SenderPattern([alternative]).takes($0) } == true
            } ?? false
        }
        guard isOwn else { return }
        report(
            .onlyOwnMessages, rule, at: "sender",
            "\(subject(rule)) never runs: its senders are identities of 'me', whose messages the loop guard drops; "
                + "remove them from 'me', or match another sender")
    }

    // MARK: Data

    private mutating func checkData(_ rule: RoutingRule, _ profile: RuleProfile) {
        guard !rule.criteria.data.isEmpty else { return }
        let places = rule.places
        for condition in rule.criteria.data {
            let place = places[RoutingRule.label("data", condition.key)] ?? rule.position
            let key = "'\(Suggestion.shown(condition.key))'"
            let isRequired = !DataSample.missing.meets(condition.predicate)
            if condition.predicate.neverHolds {
                report(
                    .neverMatches, place, rule.id,
                    "\(subject(rule)) never matches: no value of \(key) meets all that is asked of it")
            } else if condition.predicate.alwaysHolds {
                report(
                    .alwaysHolds, place, rule.id,
                    "every value of \(key) meets this, and a missing one too; leave the condition out")
            } else if rule.criteria.isGap, condition.key.isExactly("gap"), isRequired,
                !Gap.Cause.allCases.contains(where: { DataSample.text($0.rawValue).meets(condition.predicate) })
            {
                let known = Gap.Cause.allCases.map(\.rawValue).joined(separator: ", ")
                report(
                    .unknownEvent, place, rule.id,
                    "\(subject(rule)) asks for a gap that this SDK does not report; known: \(known)")
            } else if isRequired, let never = neverThere(condition.root) {
                report(.neverMatches, place, rule.id, "\(subject(rule)) never matches: \(key) \(never)")
            } else if isRequired, profile.hasNoData {
                report(
                    .dataOfPushToApp, place, rule.id,
                    "Kii sends no data with a Push to App, so \(key) is missing, and \(subject(rule)) never matches; "
                        + "match the bucket, and check the object's fields in the handler")
            } else if isRequired, condition.pointer == nil, condition.key.utf8.contains(UInt8(ascii: ".")) {
                report(
                    .dottedKey, place, rule.id,
                    "\(key) is one key of the data: a dot does not look into a value; if the value is nested, write "
                        + Suggestion.shown(condition.key.dotsAsPointer).quotedAsJSON)
            }
        }
    }

    /// Why a key never appears in the data.
    func neverThere(_ key: String) -> String? {
        if key.isExactly("aps") { return "belongs to Apple, and is not data of the sender" }
        if key.isExactly(Lineage.key) { return "is the loop guard's stamp, and not data of the sender" }
        return nil
    }

    // MARK: Names

    private mutating func checkNames(_ rule: RoutingRule, _ profile: RuleProfile) {
        if let events = rule.criteria.events, profile.kinds == KindSet(.pushToApp) {
            let known = KiiEvent.known.map(\.name)
            for alternative in events.alternatives
            where !known.contains(where: { TextPattern([alternative]).matches($0) }) {
                let text = RuleText(alternative).text
                report(
                    .unknownEvent, rule, at: "events",
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
                .unknownTransport, rule, at: "transport",
                "no transport of this SDK is called '\(Suggestion.shown(text))'; did you mean '\(nearest)'?")
        }
    }

    /// Whether it is a transport of this SDK other than MQTT; one of a program's own may be over MQTT too.
    private static func lacksMQTT(_ transport: String) -> Bool {
        transport != Transport.mqtt.name && (transports + ["stdin", "unix"]).containsExactly(transport)
    }

    /// The names of the transports that deliver Kii's pushes.
    static let transports = [Transport.apns, .fcm, .jpush, .mqtt, .quickblox].map(\.name)
}

extension RoutingRule {
    /// The parts of a combined condition as rules of their own, which also have the kinds and certainties around them.
    fileprivate func parts(of group: ConditionGroup, _ kinds: KindSet) -> [RoutingRule] {
        group.paths(group.combining.rawValue).map { path, criteria in
            var part = self
            part.criteria = criteria
            part.criteria.kinds.formIntersection(kinds)
            part.criteria.certainty = self.criteria.certainty
            part.part = (self.part.map { "\($0)/" } ?? "") + path.dropLast()
            part.conditions = conditions.filter { $0.name.begins(exactlyWith: path) }.map { condition in
                Condition(
                    name: condition.name.droppingFirst(bytes: path.utf8.count), key: condition.key,
                    position: condition.position)
            }
            return part
        }
    }
}

extension String {
    /// The pointer that a key with dots may mean: `/temp/value` for `temp.value` and `data.temp.value`.
    fileprivate var dotsAsPointer: String {
        (keyOfData ?? self).split(separator: ".", omittingEmptySubsequences: false)
            .map { "/\(String($0).asPointerPart)" }.joined()
    }
}

extension KiiEvent {
    /// The events that Kii documents.
    static let known: [KiiEvent] = [
        .objectCreated, .objectUpdated, .objectDeleted, .objectBodyUpdated, .objectBodyDeleted, .objectACLModified,
        .bucketDeleted,
    ]
}
