/// Decodes any `Decodable` from a sender's data, without Foundation.
///
/// Numbers and booleans are also decoded from strings of the same text, as FCM sends them; texts also from numbers; and
/// objects and arrays also from JSON inside a string, because Kii allows no nested data.
struct DataDecoder: Decoder {
    let value: DataValue
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    init(_ value: DataValue, path: [any CodingKey]) {
        self.value = value
        codingPath = path
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let members) = value.structured else {
            throw mismatch([String: DataValue].self, "an object")
        }
        let values = DataValue.byKey(members)
        let container = KeyedDataContainer<Key>(keys: members.map(\.key), values: values, codingPath: codingPath)
        return KeyedDecodingContainer(container)
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = value.structured else { throw mismatch([DataValue].self, "an array") }
        return UnkeyedDataContainer(elements: elements, codingPath: codingPath)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

    fileprivate func mismatch(_ type: any Any.Type, _ expected: String) -> DecodingError {
        let context = DecodingError.Context(codingPath: codingPath, debugDescription: "expected \(expected)")
        return value == .null ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }
}

extension DataDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool { value == .null }

    func decode(_ type: Bool.Type) throws -> Bool {
        guard let bool = value.bool else { throw mismatch(type, "a boolean") }
        return bool
    }

    func decode(_ type: String.Type) throws -> String {
        guard let string = value.string else { throw mismatch(type, "a string") }
        return string
    }

    func decode(_ type: Double.Type) throws -> Double {
        guard let double = value.double else { throw mismatch(type, "a number") }
        return double
    }

    func decode(_ type: Float.Type) throws -> Float {
        let float = Float(try decode(Double.self))
        guard float.isFinite else { throw mismatch(type, "a number that fits \(type)") }
        return float
    }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try Value(from: self) }

    /// Every integer type, each a requirement of the protocol.
    func decode<Value: Decodable & FixedWidthInteger>(_ type: Value.Type) throws -> Value {
        guard value.double != nil, let text = value.string else { throw mismatch(type, "a number") }
        // From the text, because a 64-bit value does not fit a Double, nor a UInt64 an Int64.
        guard let whole = DecimalText(text)?.whole(type) else {
            throw mismatch(type, "a whole number that fits \(type)")
        }
        return whole
    }
}

private struct KeyedDataContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    /// The keys in the payload's order, so that iterating over them is deterministic.
    let keys: [String]
    let values: [ExactText: DataValue]
    let codingPath: [any CodingKey]
    var allKeys: [Key] { keys.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { values[ExactText(key.stringValue)] != nil }

    func decodeNil(forKey key: Key) throws -> Bool { try decoder(key).decodeNil() }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try Value(from: try decoder(key))
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try decoder(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoder(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder {
        let key = StepKey(stringValue: "super")
        return DataDecoder(values[ExactText(key.stringValue)] ?? .null, path: codingPath + [key])
    }

    func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }

    private func decoder(_ key: Key) throws -> DataDecoder {
        guard let value = values[ExactText(key.stringValue)] else {
            let context = DecodingError.Context(codingPath: codingPath, debugDescription: "this key was not sent")
            throw DecodingError.keyNotFound(key, context)
        }
        return DataDecoder(value, path: codingPath + [key])
    }
}

private struct UnkeyedDataContainer: UnkeyedDecodingContainer {
    let elements: [DataValue]
    let codingPath: [any CodingKey]
    private(set) var currentIndex = 0
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    mutating func decodeNil() throws -> Bool {
        if !isAtEnd, elements[currentIndex] != .null { return false }
        return try next { $0.decodeNil() }
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try next { try Value(from: $0) } }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> {
        try next { try $0.container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try next { try $0.unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder { try next { $0 } }

    private mutating func next<Result>(_ read: (DataDecoder) throws -> Result) throws -> Result {
        let path = codingPath + [StepKey(intValue: currentIndex)]
        guard !isAtEnd else {
            let context = DecodingError.Context(codingPath: path, debugDescription: "the array has no more elements")
            throw DecodingError.valueNotFound(DataValue.self, context)
        }
        let result = try read(DataDecoder(elements[currentIndex], path: path))
        currentIndex += 1
        return result
    }
}

/// An array index, or a key that no type declares, as a step of a coding path.
private struct StepKey: CodingKey {
    let intValue: Int?
    let stringValue: String

    init(intValue: Int) {
        self.intValue = intValue
        stringValue = "Index \(intValue)"
    }

    init(stringValue: String) {
        intValue = nil
        self.stringValue = stringValue
    }
}
