/// One value of a sender's data.
public enum DataValue: Sendable, Hashable {
    /// A string.
    case string(String)
    /// A number, as the text that was sent, so that no digit is lost.
    case number(String)
    /// A boolean.
    case bool(Bool)
    /// A null.
    case null
    /// An array; Kii's senders cannot send one, but Thing-IF commands contain them.
    case array([DataValue])
    /// An object, its members in order.
    case object([(key: String, value: DataValue)])

    package init(_ text: Span<UInt8>, _ token: JSONToken) {
        switch token.kind {
        case .string: self = .string(token.string(in: text))
        case .number: self = .number(token.string(in: text))
        case .true: self = .bool(true)
        case .false: self = .bool(false)
        case .null, .absent: self = .null
        case .array, .object:
            var reader = JSONReader(at: Int(token.start), limits: .checked)
            self.init(text, &reader)
        }
    }

    /// Reads the next value, each byte once, however deeply it is nested.
    private init(_ text: Span<UInt8>, _ reader: inout JSONReader) {
        switch reader.peek(text) {
        case UInt8(ascii: "["):
            reader.advance()
            var elements: [DataValue] = []
            while reader.nextElement(text, isFirst: elements.isEmpty) { elements.append(DataValue(text, &reader)) }
            self = .array(elements)
        case UInt8(ascii: "{"):
            reader.advance()
            var members: [(key: String, value: DataValue)] = []
            var seen = SeenKeys()
            var isFirst = true
            while let key = try? reader.nextKey(text, isFirst: isFirst)?.token {
                isFirst = false
                let value = DataValue(text, &reader)
                if seen.insert(key, text) { members.append((key.string(in: text), value)) }
            }
            self = .object(members)
        default:
            // Checked text cannot fail again; if it did, the value would be null.
            guard let token = try? reader.readValue(text, depth: 0) else {
                self = .null
                return
            }
            self.init(text, token)
        }
    }

    /// Reads a text that is one JSON value, within the limits of a value in a payload; nil if it is none.
    ///
    /// Senders put structured values into strings. Of members with the same key, the first counts.
    public init?(json: String) { self.init(json: json, limits: .ofString) }

    package init?(json: String, limits: PayloadLimits) {
        let text = json.utf8.span
        guard let token = try? JSONToken(only: text, limits) else { return nil }
        self.init(text, token)
    }

    // MARK: As what it is meant

    /// The text of a string, number or boolean.
    public var string: String? {
        switch self {
        case .string(let text), .number(let text): text
        case .bool(let value): value ? "true" : "false"
        case .null, .array, .object: nil
        }
    }

    /// The whole number in a number or a string.
    public var integer: Int64? { parsed(JSONNumber.integer) }

    /// The time in a number or a string, without a fraction of a millisecond.
    var milliseconds: Int64? { parsed(JSONNumber.truncated) }

    /// The number in a number or a string.
    public var double: Double? { parsed(JSONNumber.double) }

    /// The truth value of a boolean, of 0 or 1, or of a string of the same text.
    public var bool: Bool? {
        guard let string, string.utf8.count <= 5 else { return nil }
        return switch string {
        case "true", "1": true
        case "false", "0": false
        default: nil
        }
    }

    private func parsed<Number>(_ parse: (Span<UInt8>, Range<Int>) -> Number?) -> Number? {
        switch self {
        case .string(let text), .number(let text): parse(text.utf8.span, 0..<text.utf8.count)
        default: nil
        }
    }

    /// The value of a key, if this is an object or a string that contains one.
    public subscript(key: String) -> DataValue? {
        if case .object(let members) = structured { members.value(of: key) } else { nil }
    }

    /// The value, or the value in a string that is JSON.
    var structured: DataValue {
        if case .string(let text) = self { DataValue(json: text) ?? self } else { self }
    }

    /// The element at `index`, if this is an array that has it.
    public subscript(index: Int) -> DataValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    // MARK: Comparing

    /// Whether two values are equal: texts to the byte, numbers by value, members in any order.
    public static func == (left: DataValue, right: DataValue) -> Bool {
        switch (left, right) {
        case (.string(let left), .string(let right)): left.isExactly(right)
        case (.number(let left), .number(let right)):
            left.isExactly(right) || DecimalText.areEqual(left.utf8.span, 0..<left.utf8.count, right)
        case (.bool(let left), .bool(let right)): left == right
        case (.null, .null): true
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)):
            byKey(left) == byKey(right)
        default: false
        }
    }

    /// The members by their keys; the first of duplicates counts.
    static func byKey(_ members: [(key: String, value: DataValue)]) -> [ExactText: DataValue] {
        var values: [ExactText: DataValue] = [:]
        for (key, value) in members.reversed() { values[ExactText(key)] = value }
        return values
    }

    /// Hashes the value.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .string(let text): text.hashExactly(into: &hasher)
        case .number(let text): hasher.combine(DecimalText(text))
        case .bool(let value): hasher.combine(value)
        case .null: hasher.combine(0)
        case .array(let elements): hasher.combine(elements)
        case .object(let members): hasher.combine(Self.byKey(members).count)
        }
    }
}

extension [(key: String, value: DataValue)] {
    func value(of key: String) -> DataValue? { first { $0.key.isExactly(key) }?.value }
}
