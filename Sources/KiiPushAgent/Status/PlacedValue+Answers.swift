package import KiiPush
package import KiiPushSystem

/// Reads an agent's answers leniently: missing values, or those of another type, are nil, empty or zero.
extension PlacedValue {
    package subscript(key: String) -> PlacedValue? {
        guard case .object(let members) = content else { return nil }
        return members.first { $0.key == key }?.value
    }

    package func objects(_ key: String) -> [PlacedValue] {
        guard case .array(let elements)? = self[key]?.content else { return [] }
        return elements
    }

    package var text: String? { if case .string(let text) = content { text } else { nil } }
    package var flag: Bool? { if case .bool(let flag) = content { flag } else { nil } }
    package var integer: Int64? { if case .number(let text) = content { Int64(text) } else { nil } }
    package var fraction: Double? { if case .number(let text) = content { Double(text) } else { nil } }
    package var date: UTCDate? { text.flatMap { UTCDate($0) } }

    package func number(_ key: String) -> Int64 { self[key]?.integer ?? 0 }
}
