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
    /// An array; Kii's senders cannot send one, Thing-IF commands have them.
    case array([DataValue])
    /// An object, its members in order.
    case object([(key: String, value: DataValue)])

    init(_ text: Span<UInt8>, _ token: JSONToken) {
        switch token.kind {
        case .string: self = .string(token.string(in: text))
        case .number: self = .number(token.string(in: text))
        case .true: self = .bool(true)
        case .false: self = .bool(false)
        case .null, .absent: self = .null
        case .array:
            var elements: [DataValue] = []
            var tokens = ArrayElements(text, at: Int(token.start))
            while let element = tokens.next(text) { elements.append(DataValue(text, element)) }
            self = .array(elements)
        case .object:
            var members: [(key: String, value: DataValue)] = []
            // Bytes, since to Swift two spellings of one character are equal strings; to JSON they are two keys.
            var seen: Set<[UInt8]> = []
            var tokens = ObjectMembers(text, at: Int(token.start))
            while let (key, value) = tokens.next(text) {
                guard seen.insert(key.bytes(in: text)).inserted else { continue }
                members.append((key.string(in: text), DataValue(text, value)))
            }
            self = .object(members)
        }
    }

    /// The value that a text holds if it is JSON; for structured values, which senders put into strings.
    package init?(json: String) {
        let text = json.utf8.span
        var reader = JSONReader(limits: PayloadLimits(bytes: 16 << 20, depth: 32, members: 1024))
        guard let token = try? reader.readValue(text, depth: 0), reader.peek(text) == nil else { return nil }
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

    /// The whole number that a number or a string holds.
    public var integer: Int64? {
        guard let text = numberText else { return nil }
        return JSONNumber.integer(text.utf8.span, 0..<text.utf8.count)
    }

    /// The time that a number or a string holds, without a fraction of a millisecond.
    var milliseconds: Int64? {
        guard let text = numberText else { return nil }
        return JSONNumber.truncated(text.utf8.span, 0..<text.utf8.count)
    }

    /// The number that a number or a string holds.
    public var double: Double? {
        guard let text = numberText else { return nil }
        return JSONNumber.double(text.utf8.span, 0..<text.utf8.count)
    }

    /// The truth that a boolean, 0 or 1, or a string of the same text holds.
    public var bool: Bool? {
        switch string {
        case "true", "1": true
        case "false", "0": false
        default: nil
        }
    }

    private var numberText: String? {
        switch self {
        case .string(let text), .number(let text): text
        default: nil
        }
    }

    /// The value of a key, if this is an object or a string that holds one.
    public subscript(key: String) -> DataValue? {
        switch self {
        case .object(let members): members.first { $0.key == key }?.value
        case .string(let text): DataValue(json: text)?.objectMember(key)
        default: nil
        }
    }

    private func objectMember(_ key: String) -> DataValue? {
        guard case .object = self else { return nil }
        return self[key]
    }

    /// The element at `index`, if this is an array that has one.
    public subscript(index: Int) -> DataValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    // MARK: Comparing

    /// Whether two values are the same; the order of members counts for nothing.
    public static func == (left: DataValue, right: DataValue) -> Bool {
        switch (left, right) {
        case (.string(let left), .string(let right)), (.number(let left), .number(let right)): left == right
        case (.bool(let left), .bool(let right)): left == right
        case (.null, .null): true
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)):
            Dictionary(left.map { ($0.key, $0.value) }) { first, _ in first }
                == Dictionary(right.map { ($0.key, $0.value) }) { first, _ in first }
        default: false
        }
    }

    /// Hashes the value.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .string(let text), .number(let text): hasher.combine(text)
        case .bool(let value): hasher.combine(value)
        case .null: hasher.combine(0)
        case .array(let elements): hasher.combine(elements)
        case .object(let members): hasher.combine(members.count)
        }
    }
}
