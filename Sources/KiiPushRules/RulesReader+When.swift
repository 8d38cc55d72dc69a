import KiiPush

/// One text of a key of `when`.
struct RulesText {
    let text: String
    /// Whether it was written as `{"equals": …}`, so that a star in it is literal.
    let isExact: Bool
    let node: PlacedValue

    var pattern: TextPattern { isExact ? .exactly(text) : TextPattern(text) }
}

extension RulesReader {
    private static let whenKeys =
        WhenCondition.allCases.map(\.rawValue) + ["data"] + ConditionGroup.Operator.allCases.map(\.rawValue)

    /// The key `when` of a rule, and the positions of its conditions.
    mutating func when(_ node: PlacedValue) -> (RouteCriteria, [RoutingRule.Condition]) {
        var parts = 0
        var conditions: [RoutingRule.Condition] = []
        let criteria = when(node, path: "", level: 0, &parts, &conditions)
        return (criteria, conditions)
    }

    /// An object of conditions: `when` itself, or a part of `any`, `all` or `not`.
    private mutating func when(
        _ node: PlacedValue, path: String, level: Int, _ parts: inout Int, _ conditions: inout [RoutingRule.Condition]
    ) -> RouteCriteria {
        var criteria = RouteCriteria()
        guard let object = object(node, "an object with conditions") else { return criteria }
        refuseConditions(of: object, isPart: level > 0)
        for member in object.members {
            let value = member.value
            switch member.key {
            case "kind":
                let kinds: [PushKind] = values(value, "kind")
                criteria.kinds = kinds.reduce(into: []) { $0.insert(KindSet($1)) }
            case "scope": criteria.scope = scope(value)
            case "sender": criteria.sender = sender(value)
            case "certainty": criteria.certainty = values(value, "certainty")
            case "mqtt": criteria.mqtt = mqtt(value)
            case "data":
                criteria.data = data(value, path: path, &conditions)
                continue
            default:
                if let condition = WhenCondition(rawValue: member.key)?.pattern {
                    criteria[keyPath: condition.path] = pattern(value, condition.words)
                    break
                }
                guard let combining = ConditionGroup.Operator(rawValue: member.key) else { continue }
                let inner = group(combining, value, path: path + member.key, level: level + 1, &parts, &conditions)
                criteria.groups.append(ConditionGroup(combining, inner))
            }
            conditions.append(
                RoutingRule.Condition(name: path + member.key, key: nil, position: position(member.keyOffset)))
        }
        // In one order, so that equal conditions have the same text.
        criteria.groups.sort { $0.combining.rawValue < $1.combining.rawValue }
        return criteria
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
        _ combining: ConditionGroup.Operator, _ node: PlacedValue, path: String, level: Int, _ parts: inout Int,
        _ conditions: inout [RoutingRule.Condition]
    ) -> [RouteCriteria] {
        let nodes = combining == .not ? [node] : list(node, "a list of objects with conditions") ?? []
        if combining != .not, node.token.kind == .array, nodes.isEmpty {
            report(node.offset, "expected a condition, found an empty list")
        }
        guard level <= RoutingRule.mostLevels else {
            report(node.offset, "conditions are combined more than \(RoutingRule.mostLevels) levels deep")
            return []
        }
        var criteria: [RouteCriteria] = []
        for (number, node) in nodes.enumerated() {
            parts += 1
            guard parts <= RoutingRule.mostParts else {
                if parts == RoutingRule.mostParts + 1 {
                    report(node.offset, "a rule combines at most \(RoutingRule.mostParts) objects of conditions")
                }
                break
            }
            let path = combining == .not ? "\(path)/" : "\(path)/\(number)/"
            criteria.append(when(node, path: path, level: level, &parts, &conditions))
        }
        return criteria
    }

    // MARK: Texts

    /// A text, or a list of alternatives; each may be `{"equals": text}` instead.
    mutating func texts(_ node: PlacedValue, _ what: String) -> [RulesText] {
        guard let nodes = node.elements else { return text(node, what, isInList: false).map { [$0] } ?? [] }
        if nodes.isEmpty { report(node.offset, "an empty list matches nothing; leave the key out to match anything") }
        return nodes.compactMap { text($0, what, isInList: true) }
    }

    private mutating func text(_ node: PlacedValue, _ what: String, isInList: Bool) -> RulesText? {
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
            return refuse(
                value.offset, "expected \(what), found an empty string, which matches nothing; \"*\" matches any")
        }
        return RulesText(text: text, isExact: isExact, node: value)
    }

    mutating func pattern(_ node: PlacedValue, _ what: String) -> TextPattern? {
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

    /// The values of an enumeration that texts match, each once.
    private mutating func values<Value: CaseIterable & RawRepresentable<String>>(
        _ node: PlacedValue, _ what: String
    ) -> [Value] {
        let known = Value.allCases.map { (name: $0.rawValue, value: $0) }
        return texts(node, "a \(what)").reduce(into: []) { found, text in
            found += names(text, what, known).filter { value in !found.contains { $0 == value } }
        }
    }

    static let scopeTypes: [(name: String, value: MessageScope.Kind)] = [
        ("APP", .app), ("APP_AND_USER", .user), ("APP_AND_GROUP", .group), ("APP_AND_THING", .thing),
    ]

    /// Scope types, each with any id or none, and owners such as `user:U1`, which include the id.
    private mutating func scope(_ node: PlacedValue) -> ScopePattern {
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

    private mutating func sender(_ node: PlacedValue) -> SenderPattern {
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

extension RulesReader {
    /// The key `data` of `when`: each root key or JSON Pointer with its predicate.
    private mutating func data(
        _ node: PlacedValue, path: String, _ conditions: inout [RoutingRule.Condition]
    ) -> [DataCondition] {
        var data: [DataCondition] = []
        for member in object(node, "an object with keys of the data")?.members ?? [] {
            conditions.append(
                RoutingRule.Condition(name: path + "data", key: member.key, position: position(member.keyOffset)))
            if member.key.utf8.first == UInt8(ascii: "/") {
                do throws(DataPointerError) { _ = try DataPointer(member.key) } catch {
                    report(member.keyOffset, error.what)
                    continue
                }
            }
            if let predicate = predicate(member.value) {
                data.append(DataCondition(key: member.key, predicate: predicate))
            }
        }
        return data
    }

    private mutating func predicate(_ node: PlacedValue) -> DataPredicate? {
        switch node.token.kind {
        case .string:
            guard let value = filledValue(node) else { return nil }
            if case .string(let text) = value { return .matches(TextPattern(text)) }
            return DataPredicate(.equals(value))
        case .number, .true, .false, .null, .absent: return scalar(node).map { DataPredicate(.equals($0)) }
        case .array:
            let nodes = node.elements ?? []
            if nodes.isEmpty { report(node.offset, "an empty list matches nothing; \"*\" matches any value") }
            let predicates = nodes.compactMap { predicate($0) }
            return predicates.count == nodes.count && !nodes.isEmpty ? .any(predicates) : nil
        case .object:
            guard let object = object(node, "a predicate") else { return nil }
            if object.members.isEmpty {
                report(node.offset, "expected an operator: \(DataPredicate.operators.joined(separator: ", "))")
            }
            let predicates = object.members.compactMap { operation($0) }
            return predicates.count == object.members.count && !predicates.isEmpty ? .all(predicates) : nil
        }
    }

    private mutating func operation(_ member: PlacedValue.Member) -> DataPredicate? {
        let value = member.value
        switch member.key {
        case "equals": return scalar(value).map { DataPredicate(.equals($0)) }
        case "anyOf":
            let nodes = list(value, "a list of values") ?? []
            if value.token.kind == .array, nodes.isEmpty {
                report(value.offset, "an empty list matches nothing")
            }
            let values = nodes.compactMap { scalar($0) }
            return values.count == nodes.count && !nodes.isEmpty ? DataPredicate(.anyOf(values)) : nil
        case "prefix": return string(value, "a string", fills: true).map { .prefix($0) }
        case "suffix": return string(value, "a string", fills: true).map { .suffix($0) }
        case "greater": return number(value).map { DataPredicate(.greater($0)) }
        case "less": return number(value).map { DataPredicate(.less($0)) }
        case "exists": return bool(value).map { .exists($0) }
        case "not": return predicate(value).map { .not($0) }
        default:
            return refuse(member.keyOffset, Suggestion.unknown("operator", member.key, known: DataPredicate.operators))
        }
    }

    private mutating func scalar(_ node: PlacedValue) -> DataValue? {
        switch node.token.kind {
        case .string: return filledValue(node)
        case .number, .true, .false, .null: return node.value
        case .object, .array, .absent:
            return refuse(node, expected: "a string, a number, true, false or null")
        }
    }

    /// The text of a number, which may also be in a string.
    private mutating func number(_ node: PlacedValue) -> String? {
        guard node.token.kind == .number || node.token.kind == .string else {
            return refuse(node, expected: "a number")
        }
        guard let text = filled(text(node), at: node) else { return nil }
        let isNumber = JSONNumber.isNumber(text.utf8.span, 0..<text.utf8.count)
        return isNumber ? text : refuse(node, "a number", found: text)
    }
}
