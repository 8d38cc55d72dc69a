/// The data that a sender put into a push: the root keys that are not Kii's, Apple's or the network's.
///
/// Nothing is read until asked for, and each question reads the payload again; take what you need once. Numbers keep
/// their text. On FCM every value is a string, so a number or boolean is also found in a string of the same text.
public struct MessageData: Sendable {
    let storage: MessageStorage

    /// The value of one key; nil when the sender did not send it.
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
    public var keys: [String] {
        var keys: [String] = []
        forEach { text, key, _ in keys.append(key.string(in: text)) }
        return keys
    }

    /// Whether the sender sent nothing of their own.
    public var isEmpty: Bool { first { _, _, _ in true } == nil }

    /// Fills a value from the data, as `JSONDecoder` would, without Foundation.
    ///
    /// Kii allows only flat data, so a structured value arrives as JSON inside a string; it is decoded from there.
    ///
    /// - Throws: `DecodingError` with the path of the key that is missing or has another type.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
        try Value(from: DataDecoder(.object(members), path: []))
    }

    // MARK: Going over the members

    /// Calls `body` with the tokens of each of the sender's members, and the text that they are positions in.
    func forEach(_ body: (Span<UInt8>, JSONToken, JSONToken) -> Void) {
        _ = first { text, key, value in
            body(text, key, value)
            return nil as Bool?
        }
    }

    /// The first thing that `body` makes of a member, which ends the search.
    func first<Result>(_ body: (Span<UInt8>, JSONToken, JSONToken) -> Result?) -> Result? {
        let buffer = storage.buffer
        let text = buffer.span.extracting(storage.payloadRange)
        var members = ObjectMembers(text)
        while let (key, value) = members.next(text) {
            guard isData(text, key) else { continue }
            if let result = body(text, key, value) { return result }
        }
        return nil
    }

    private func isData(_ text: Span<UInt8>, _ key: JSONToken) -> Bool {
        if let known = key.rootKey(in: text) { return known.isData(in: storage.keyDialect) }
        if storage.dialect == .quickBlox, QuickBloxParameter(text, key) != nil { return false }
        return !NetworkKeys.isAdded(text, key)
    }
}
