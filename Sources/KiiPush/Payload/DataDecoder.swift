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

extension DataValue {
    /// The value, or the value in a string that is JSON.
    fileprivate var structured: DataValue {
        if case .string(let text) = self { return DataValue(json: text) ?? self }
        return self
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

    func decode(_ type: Int.Type) throws -> Int { try integer(type) }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer(type) }
    func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try Value(from: self) }

    private func integer<Value: FixedWidthInteger>(_ type: Value.Type) throws -> Value {
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

    init(elements: [DataValue], codingPath: [any CodingKey]) {
        self.elements = elements
        self.codingPath = codingPath
    }

    mutating func decodeNil() throws -> Bool {
        guard try current().decodeNil() else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let value = try Value(from: try current())
        currentIndex += 1
        return value
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> {
        let container = try current().container(keyedBy: type)
        currentIndex += 1
        return container
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let container = try current().unkeyedContainer()
        currentIndex += 1
        return container
    }

    mutating func superDecoder() throws -> any Decoder {
        let decoder = try current()
        currentIndex += 1
        return decoder
    }

    private func current() throws -> DataDecoder {
        let path = codingPath + [StepKey(intValue: currentIndex)]
        guard !isAtEnd else {
            let context = DecodingError.Context(codingPath: path, debugDescription: "the array has no more elements")
            throw DecodingError.valueNotFound(DataValue.self, context)
        }
        return DataDecoder(elements[currentIndex], path: path)
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
