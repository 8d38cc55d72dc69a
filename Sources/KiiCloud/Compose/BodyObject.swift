import KiiPush

/// An object of a request's body during parsing: members are read by name, and unknown ones are reported.
struct BodyObject {
    private let path: String
    private let members: [PlacedValue.Member]

    init(_ text: [UInt8]) throws(MessageBodyError) {
        let root: PlacedValue
        do throws(DecodeError) {
            root = try PlacedValue(text, limits: PayloadLimits(bytes: OutgoingMessage.mostBodyBytes))
        } catch { throw MessageBodyError("", at: error.offset, "\(error.code.rawValue): \(error.detail)") }
        try self.init(root, path: "")
    }

    private init(_ value: PlacedValue, path: String) throws(MessageBodyError) {
        guard let members = value.members else {
            throw MessageBodyError(path, at: value.offset, "expected an object, as {…}")
        }
        self.path = path
        self.members = members
        var seen: Set<ExactText> = []
        for member in members where !seen.insert(ExactText(member.key)).inserted {
            throw MessageBodyError(place(member.key), at: member.keyOffset, "duplicate key; send it once")
        }
    }

    func allow(_ names: [String]) throws(MessageBodyError) {
        for member in members where !names.containsExactly(member.key) {
            throw MessageBodyError(
                place(member.key), at: member.keyOffset, Suggestion.unknown("key", member.key, known: names))
        }
    }

    /// The path of a member; an untrusted key is escaped to fit on one line.
    private func place(_ key: String) -> String {
        let key = Suggestion.shown(key)
        return path.isEmpty ? key : "\(path).\(key)"
    }

    /// A member's value; null counts as absent.
    private func value(_ key: String) -> PlacedValue? {
        guard let value = members.first(where: { $0.key.isExactly(key) })?.value else { return nil }
        if case .null = value.value { return nil }
        return value
    }

    private func wrong(_ key: String, _ value: PlacedValue, _ due: String) -> MessageBodyError {
        MessageBodyError(place(key), at: value.offset, "expected \(due)")
    }

    /// A member's value as a value of Swift, whose kind is named in the error.
    private func value<Value>(
        _ key: String, as due: String, _ convert: (DataValue) -> Value?
    ) throws(MessageBodyError) -> Value? {
        guard let value = value(key) else { return nil }
        guard let converted = convert(value.value) else { throw wrong(key, value, due) }
        return converted
    }

    func object(_ key: String) throws(MessageBodyError) -> BodyObject? {
        guard let value = value(key) else { return nil }
        return try BodyObject(value, path: place(key))
    }

    func string(_ key: String) throws(MessageBodyError) -> String? {
        try value(key, as: "a string") { if case .string(let string) = $0 { string } else { nil } }
    }

    func strings(_ key: String) throws(MessageBodyError) -> [String]? {
        guard let value = value(key) else { return nil }
        guard let elements = value.elements else { throw wrong(key, value, "an array of strings") }
        var strings: [String] = []
        for element in elements {
            guard case .string(let string) = element.value else { throw wrong(key, element, "a string") }
            strings.append(string)
        }
        return strings
    }

    func bool(_ key: String) throws(MessageBodyError) -> Bool? {
        try value(key, as: "true or false") { if case .bool(let bool) = $0 { bool } else { nil } }
    }

    /// A boolean, which Kii's SDKs may write as 1 or 0.
    func flag(_ key: String) throws(MessageBodyError) -> Bool? {
        try value(key, as: "true, false, 1 or 0") { content in
            switch content {
            case .bool(let bool): bool
            case .number("1"): true
            case .number("0"): false
            default: nil
            }
        }
    }

    func integer(_ key: String) throws(MessageBodyError) -> Int? {
        try value(key, as: "a whole number") { content in
            if case .number = content { content.integer.flatMap { Int(exactly: $0) } } else { nil }
        }
    }

    /// An object with any values, such as a sender's own data; the check reports those that Kii does not accept.
    func data(_ key: String) throws(MessageBodyError) -> KeyedData? {
        try object(key).map { KeyedData($0.members.map { (key: $0.key, value: $0.value.value) }) }
    }
}
