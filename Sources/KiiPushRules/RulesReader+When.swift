import KiiPush

/// One text of a key of `when`.
struct RulesText {
    let text: String
    /// Whether it was written as `{"equals": …}`, so that a star in it is literal.
    let isExact: Bool
    let node: RulesNode

    var pattern: TextPattern { isExact ? .exactly(text) : TextPattern(text) }
}

extension RulesReader {
    static let whenKeys = [
        "kind", "scope", "scopeID", "bucket", "object", "topic", "events", "sender", "certainty", "transport", "data",
        "format", "type", "command", "mqtt", "any", "all", "not",
    ]

    /// The key `when` of a rule, and the positions of its conditions.
    mutating func when(_ node: RulesNode) -> (RouteCriteria, [RoutingRule.Condition]) {
        var parts = 0
        return when(node, path: "", level: 0, &parts)
    }

    /// An object of conditions: `when` itself, or a part of `any`, `all` or `not`.
    private mutating func when(
        _ node: RulesNode, path: String, level: Int, _ parts: inout Int
    ) -> (RouteCriteria, [RoutingRule.Condition]) {
        var criteria = RouteCriteria()
        var conditions: [RoutingRule.Condition] = []
        guard let object = object(node, "an object with conditions") else { return (criteria, conditions) }
        refuseConditions(of: object, isPart: level > 0)
        for member in object.members {
            let value = member.value
            switch member.key {
            case "kind": criteria.kinds = kinds(value)
            case "scope": criteria.scope = scope(value)
            case "scopeID": criteria.scopeID = pattern(value, "the id of a scope")
            case "bucket": criteria.bucket = pattern(value, "the name of a bucket")
            case "object": criteria.object = pattern(value, "the id of an object")
            case "topic": criteria.topic = pattern(value, "the name of a topic")
            case "events": criteria.events = pattern(value, "the name of an event")
            case "sender": criteria.sender = sender(value)
            case "certainty": criteria.certainty = certainty(value)
            case "format": criteria.format = pattern(value, "the name of a format")
            case "type": criteria.type = pattern(value, "the type of a format's push")
            case "command": criteria.command = pattern(value, "the name of an action")
            case "transport": criteria.transport = pattern(value, "the name of a transport")
            case "mqtt": criteria.mqtt = mqtt(value)
            case "data":
                let (data, places) = data(value)
                criteria.data = data
                conditions += places.map {
                    RoutingRule.Condition(name: path + $0.name, key: $0.key, position: $0.position)
                }
                continue
            default:
                guard let combining = ConditionGroup.Operator(rawValue: member.key) else { continue }
                let (group, inner) = group(combining, value, path: path + member.key, level: level + 1, &parts)
                criteria.groups.append(group)
                conditions += inner
            }
            conditions.append(
                RoutingRule.Condition(name: path + member.key, key: nil, position: position(member.keyOffset)))
        }
        // In one order, so that equal conditions have the same text.
        criteria.groups.sort { $0.combining.rawValue < $1.combining.rawValue }
        return (criteria, conditions)
    }

    private mutating func refuseConditions(of object: RulesObject, isPart: Bool) {
        if isPart, object.members.isEmpty { report(object.node.offset, "expected a condition, found none") }
        for member in object.members where !Self.whenKeys.containsExactly(member.key) {
            let isData = member.key.begins(exactlyWith: RouteDedupe.prefix)
            let advice = isData ? "; write the key of the data inside \"data\": {…}" : ""
            report(member.keyOffset, Suggestion.unknown("key", member.key, known: Self.whenKeys) + advice)
        }
        if isPart, let member = object.member("certainty") {
            report(member.keyOffset, "'certainty' concerns the whole rule; write it directly in 'when'")
        }
    }

    // MARK: Combined conditions

    private mutating func group(
        _ combining: ConditionGroup.Operator, _ node: RulesNode, path: String, level: Int, _ parts: inout Int
    ) -> (ConditionGroup, [RoutingRule.Condition]) {
        let nodes = combining == .not ? [node] : list(node, "a list of objects with conditions") ?? []
        if combining != .not, node.token.kind == .array, nodes.isEmpty {
            report(node.offset, "expected a condition, found an empty list")
        }
        guard level <= RoutingRule.mostLevels else {
            report(node.offset, "conditions are combined more than \(RoutingRule.mostLevels) levels deep")
            return (ConditionGroup(combining, []), [])
        }
        var criteria: [RouteCriteria] = []
        var conditions: [RoutingRule.Condition] = []
        for (number, node) in nodes.enumerated() {
            parts += 1
            guard parts <= RoutingRule.mostParts else {
                if parts == RoutingRule.mostParts + 1 {
                    report(node.offset, "a rule combines at most \(RoutingRule.mostParts) objects of conditions")
                }
                break
            }
            let path = combining == .not ? "\(path)/" : "\(path)/\(number)/"
            let (part, places) = when(node, path: path, level: level, &parts)
            criteria.append(part)
            conditions += places
        }
        return (ConditionGroup(combining, criteria), conditions)
    }

    // MARK: Texts

    /// A text, or a list of alternatives; each may be `{"equals": text}` instead.
    mutating func texts(_ node: RulesNode, _ what: String) -> [RulesText] {
        guard node.token.kind == .array else { return text(node, what, isInList: false).map { [$0] } ?? [] }
        let nodes = elements(node)
        if nodes.isEmpty { report(node.offset, "an empty list matches nothing; leave the key out to match anything") }
        return nodes.compactMap { text($0, what, isInList: true) }
    }

    private mutating func text(_ node: RulesNode, _ what: String, isInList: Bool) -> RulesText? {
        var value = node
        let isExact = node.token.kind == .object
        if isExact {
            guard let object = object(node, what, keys: ["equals"]) else { return nil }
            guard let member = object["equals"] else {
                if object.members.isEmpty { report(node.offset, "the key 'equals' is missing") }
                return nil
            }
            value = member
        }
        guard let text = string(value, isInList || isExact ? what : "\(what), or a list of them", fills: true) else {
            return nil
        }
        guard !text.isEmpty else {
            report(value.offset, "expected \(what), found an empty string, which matches nothing; \"*\" matches any")
            return nil
        }
        return RulesText(text: text, isExact: isExact, node: value)
    }

    mutating func pattern(_ node: RulesNode, _ what: String) -> TextPattern? {
        .anyOf(texts(node, what).map(\.pattern))
    }

    /// The members of a closed set that a text matches; reports a text that matches none.
    private mutating func names<Value>(
        _ text: RulesText, _ what: String, _ values: [(name: String, value: Value)]
    ) -> [Value] {
        let pattern = text.pattern
        let found = values.filter { pattern.matches($0.name) }
        if found.isEmpty { report(text.node.offset, Suggestion.unknown(what, text.text, known: values.map(\.name))) }
        return found.map(\.value)
    }

    // MARK: Kinds, scopes, senders

    private mutating func kinds(_ node: RulesNode) -> KindSet {
        let known = PushKind.allCases.map { (name: $0.rawValue, value: $0) }
        var kinds: KindSet = []
        for text in texts(node, "a kind") {
            for kind in names(text, "kind", known) { kinds.insert(KindSet(kind)) }
        }
        return kinds
    }

    private mutating func certainty(_ node: RulesNode) -> [Certainty] {
        let known = Certainty.allCases.map { (name: $0.rawValue, value: $0) }
        var found: [Certainty] = []
        for text in texts(node, "a certainty") {
            for certainty in names(text, "certainty", known) where !found.contains(certainty) {
                found.append(certainty)
            }
        }
        return found
    }

    static let scopeTypes: [(name: String, value: MessageScope.Kind)] = [
        ("APP", .app), ("APP_AND_USER", .user), ("APP_AND_GROUP", .group), ("APP_AND_THING", .thing),
    ]

    /// Scope types, each with any id or none, and owners such as `user:U1`, which include the id.
    private mutating func scope(_ node: RulesNode) -> ScopePattern {
        var alternatives: [ScopePattern.Alternative] = []
        for text in texts(node, "the type of a scope, such as \"APP_AND_USER\"") {
            if text.text == "app" || text.text.utf8.contains(UInt8(ascii: ":")) {
                if let owned = ownedScope(text) { alternatives.append(owned) }
                continue
            }
            for kind in names(text, "scope", Self.scopeTypes) {
                alternatives.append(ScopePattern.Alternative(kind: kind, id: nil))
            }
            // A star alone only requires that a scope is stated, even an unknown one.
            if text.pattern.takesAnything { alternatives.append(ScopePattern.Alternative(kind: .unknown, id: nil)) }
        }
        return ScopePattern(alternatives)
    }

    private mutating func sender(_ node: RulesNode) -> SenderPattern {
        let expected = "a sender: \"user:ID\", \"thing:ID\" or \"admin:NAME\""
        var alternatives: [SenderPattern.Alternative] = []
        for text in texts(node, expected) {
            if text.pattern.takesAnything {
                alternatives += [.user, .thing, .admin].map { SenderPattern.Alternative(kind: $0, id: .any) }
            } else if let (type, id) = owner(text.text, text.node, expected, types: Self.senderTypes) {
                let kind: Classified.SenderKind = type == "user" ? .user : type == "thing" ? .thing : .admin
                let pattern = text.isExact ? TextPattern.exactly(id) : TextPattern(id)
                alternatives.append(SenderPattern.Alternative(kind: kind, id: pattern))
            }
        }
        return SenderPattern(alternatives)
    }
}
