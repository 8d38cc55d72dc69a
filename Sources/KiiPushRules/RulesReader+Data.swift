// Parses conditions on the sender's data.

import KiiPush

extension RulesReader {
    /// The key `data` of `when`: each root key or JSON Pointer with its predicate.
    mutating func data(_ node: RulesNode) -> ([DataCondition], [RoutingRule.Condition]) {
        var data: [DataCondition] = []
        var places: [RoutingRule.Condition] = []
        for member in object(node, "an object with keys of the data")?.members ?? [] {
            places.append(
                RoutingRule.Condition(name: "data", key: member.key, position: position(member.keyOffset)))
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
        return (data, places)
    }

    private mutating func predicate(_ node: RulesNode) -> DataPredicate? {
        switch node.token.kind {
        case .string:
            guard let value = filledValue(node) else { return nil }
            if case .string(let text) = value { return .matches(TextPattern(text)) }
            return DataPredicate(.equals(value))
        case .number, .true, .false, .null, .absent: return scalar(node).map { DataPredicate(.equals($0)) }
        case .array:
            let nodes = elements(node)
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

    private mutating func operation(_ member: RulesMember) -> DataPredicate? {
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
            report(member.keyOffset, Suggestion.unknown("operator", member.key, known: DataPredicate.operators))
            return nil
        }
    }

    private mutating func scalar(_ node: RulesNode) -> DataValue? {
        switch node.token.kind {
        case .string: return filledValue(node)
        case .number, .true, .false, .null: return DataValue(source.bytes.span, node.token)
        case .object, .array, .absent:
            report(node, expected: "a string, a number, true, false or null")
            return nil
        }
    }

    /// The text of a number, which may also be in a string.
    private mutating func number(_ node: RulesNode) -> String? {
        guard node.token.kind == .number || node.token.kind == .string else {
            report(node, expected: "a number")
            return nil
        }
        guard let text = filled(text(node), at: node) else { return nil }
        guard JSONNumber.isNumber(text.utf8.span, 0..<text.utf8.count) else {
            report(node.offset, "expected a number, found '\(Suggestion.shown(text))'")
            return nil
        }
        return text
    }
}
