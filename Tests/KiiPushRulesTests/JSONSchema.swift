@testable import KiiPush
@testable import KiiPushTestSupport

/// As much of JSON Schema, draft 2020-12, as the schema of the rules file uses; it stops at a keyword that it does not
/// know.
struct JSONSchema {
    struct UnknownKeyword: Error {
        let keyword: String
    }

    private let root: DataValue

    init(_ root: DataValue) { self.root = root }

    /// Whether a value is as the schema says.
    func accepts(_ value: DataValue) throws -> Bool { try accepts(value, root) }

    private func accepts(_ value: DataValue, _ schema: DataValue) throws -> Bool {
        if case .bool(let answer) = schema { return answer }
        guard case .object(let members) = schema else { return false }
        for (keyword, operand) in members {
            guard try holds(keyword, operand, value, schema) else { return false }
        }
        return true
    }

    private func holds(
        _ keyword: String, _ operand: DataValue, _ value: DataValue, _ schema: DataValue
    ) throws -> Bool {
        switch keyword {
        case "$schema", "title", "description", "default", "$defs": return true
        case "$ref": return try accepts(value, resolve(operand.string ?? ""))
        case "anyOf": return try elements(operand).contains { try accepts(value, $0) }
        case "oneOf": return try elements(operand).count { try accepts(value, $0) } == 1
        case "propertyNames":
            guard case .object(let members) = value else { return true }
            return try members.allSatisfy { try accepts(.string($0.key), operand) }
        case "not": return try !accepts(value, operand)
        case "const": return value == operand
        case "enum": return elements(operand).contains(value)
        case "type":
            let types = elements(operand).isEmpty ? [operand] : elements(operand)
            return types.contains { isOf(type: $0.string ?? "", value) }
        default: return try holdsInside(keyword, operand, value, schema)
        }
    }

    /// The keywords that say something only of one type.
    private func holdsInside(
        _ keyword: String, _ operand: DataValue, _ value: DataValue, _ schema: DataValue
    ) throws -> Bool {
        switch (keyword, value) {
        case ("minimum", .number): return (value.double ?? 0) >= (operand.double ?? 0)
        case ("maximum", .number): return (value.double ?? 0) <= (operand.double ?? 0)
        case ("minLength", .string(let text)): return text.unicodeScalars.count >= Int(operand.integer ?? 0)
        case ("pattern", .string(let text)):
            let pattern = try Regex(operand.string ?? "").matchingSemantics(.unicodeScalar)
            return text.firstMatch(of: pattern) != nil
        case ("minItems", .array(let values)): return values.count >= Int(operand.integer ?? 0)
        case ("prefixItems", .array(let values)):
            return try zip(values, elements(operand)).allSatisfy { try accepts($0, $1) }
        case ("items", .array(let values)):
            let first = elements(schema["prefixItems"] ?? .null).count
            return try values.dropFirst(first).allSatisfy { try accepts($0, operand) }
        case ("required", .object): return elements(operand).allSatisfy { value[$0.string ?? ""] != nil }
        case ("minProperties", .object(let members)): return members.count >= Int(operand.integer ?? 0)
        case ("maxProperties", .object(let members)): return members.count <= Int(operand.integer ?? 0)
        case ("properties", .object(let members)):
            return try members.allSatisfy {
                try operand[$0.key].map { [value = $0.value] in try accepts(value, $0) } ?? true
            }
        case ("additionalProperties", .object(let members)):
            let known = schema["properties"]
            return try members.allSatisfy { try known?[$0.key] != nil || accepts($0.value, operand) }
        case ("minimum", _), ("maximum", _), ("minLength", _), ("pattern", _), ("minItems", _), ("prefixItems", _),
            ("items", _), ("required", _), ("minProperties", _), ("maxProperties", _), ("properties", _),
            ("additionalProperties", _):
            return true
        default: throw UnknownKeyword(keyword: keyword)
        }
    }

    private func resolve(_ reference: String) throws -> DataValue {
        guard reference.hasPrefix("#/$defs/"), let found = root["$defs"]?[String(reference.dropFirst(8))] else {
            throw UnknownKeyword(keyword: reference)
        }
        return found
    }

    private func elements(_ value: DataValue) -> [DataValue] {
        guard case .array(let elements) = value else { return [] }
        return elements
    }

    private func isOf(type: String, _ value: DataValue) -> Bool {
        switch (type, value) {
        case ("object", .object), ("array", .array), ("string", .string), ("number", .number), ("boolean", .bool),
            ("null", .null):
            true
        case ("integer", .number): value.integer != nil
        default: false
        }
    }
}
