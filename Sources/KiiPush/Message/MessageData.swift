/// The data that a sender put into a push: the root keys that are not Kii's, Apple's or the network's.
///
/// It is read on demand, and each access reads the payload again; keep values that you need more than once. Numbers
/// keep their text. On FCM every value is a string, so a string is also readable as a number or boolean of the same
/// text.
public struct MessageData: Sendable {
    let storage: MessageStorage

    /// The value of one key; nil if the sender did not send it.
    public subscript(key: String) -> DataValue? {
        first { text, name, value in name.matches(key.utf8.span, in: text) ? DataValue(text, value) : nil }
    }

    /// All members, in the order of the payload.
    public var members: [(key: String, value: DataValue)] {
        var members: [(String, DataValue)] = []
        forEach { text, key, value in members.append((key.string(in: text), DataValue(text, value))) }
        return members
    }

    /// The keys, in the order of the payload.
    public var keys: [String] { members.map(\.key) }

    /// Whether the sender sent no data.
    public var isEmpty: Bool { first { _, _, _ in true } == nil }

    /// Decodes a value from the data, like `JSONDecoder`, without Foundation.
    ///
    /// Kii allows only flat data, so a structured value arrives as JSON inside a string; it is decoded from there.
    ///
    /// - Throws: `DecodingError` with the path of a key that is missing or has another type.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
        try Value(from: DataDecoder(.object(members), path: []))
    }

    // MARK: Going over the members

    /// Calls `body` with the tokens of each of the sender's members, and the text that they refer to.
    func forEach(_ body: (Span<UInt8>, JSONToken, JSONToken) -> Void) {
        _ = first { text, key, value in
            body(text, key, value)
            return nil as Bool?
        }
    }

    func first<Result>(_ body: (Span<UInt8>, JSONToken, JSONToken) -> Result?) -> Result? {
        let buffer = storage.buffer
        let text = buffer.span.extracting(storage.dataRange)
        var members = ObjectMembers(text)
        while let (key, value) = members.next(text) {
            guard isData(text, key) else { continue }
            if let result = body(text, key, value) { return result }
        }
        return nil
    }

    private func isData(_ text: Span<UInt8>, _ key: JSONToken) -> Bool {
        if let foreign = storage.foreign {
            if foreign.push.ownKeys.contains(where: { key.matches($0.utf8.span, in: text) }) { return false }
            // Data that a format has made are nobody else's.
            if foreign.dataRange != nil { return true }
        }
        if let known = key.rootKey(in: text) { return known.isData(in: storage.keyDialect) }
        return !NetworkKeys.isAdded(text, key)
    }
}
