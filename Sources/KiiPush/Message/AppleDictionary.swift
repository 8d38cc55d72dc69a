/// Apple's `aps` dictionary, whose keys say how a push is shown.
///
/// The keys that most handlers need are properties; values of the wrong type count as absent. ``subscript(_:)`` returns
/// every other key, including those that Apple adds later. In a QuickBlox event, the parameters for iOS (`ios_badge`
/// and the like) count as Apple's keys. The names are from Apple's payload key reference.
public struct AppleDictionary: Sendable {
    /// The text that is shown.
    public let alert: Alert?
    /// The number on the app's icon.
    public let badge: Int64?
    /// The sound's file name.
    public let sound: String?
    /// The category that determines the action buttons.
    public let category: String?
    /// The thread that notifications are grouped by.
    public let threadID: String?
    /// Whether `content-available` is 1: the push wakes the app.
    public let contentAvailable: Bool
    /// Whether `mutable-content` is 1: an extension may change the push first.
    public let mutableContent: Bool

    /// Whether the push shows nothing: it wakes the app and has no alert.
    public var isSilent: Bool { contentAvailable && alert == nil }

    private let storage: MessageStorage

    init?(_ storage: MessageStorage) {
        self.storage = storage
        let parameters = storage.foreign?.push.apple ?? []
        let hasOwn = storage.aps.kind == .object
        guard hasOwn || !parameters.isEmpty else { return nil }
        let buffer = storage.buffer
        let text = buffer.span.extracting(hasOwn ? storage.aps.range : 0..<0)
        func own(_ name: String) -> JSONToken? { hasOwn ? ObjectMembers.token(of: name, text) : nil }
        func made(_ name: String) -> DataValue? { parameters.first { $0.key.isExactly(name) }?.value }
        func string(_ name: String) -> String? {
            if let token = own(name) { token.plainString(in: text) } else { made(name)?.string }
        }
        func flag(_ name: String) -> Bool {
            if let token = own(name) { Self.isOne(text, token) } else { made(name)?.bool ?? false }
        }
        // The text counts as a parameter only beside others: a push with nothing but text has no dictionary.
        alert = own("alert").flatMap { Alert(text, $0) } ?? (parameters.isEmpty ? nil : storage.foreign?.push.alert)
        if let token = own("badge") {
            badge = token.kind == .number ? JSONNumber.integer(text, token.range) : nil
        } else {
            // Numbers that a format has read may be strings, like most of QuickBlox's.
            badge = made("badge")?.integer
        }
        (sound, category, threadID) = (string("sound"), string("category"), string("thread-id"))
        (contentAvailable, mutableContent) = (flag("content-available"), flag("mutable-content"))
    }

    /// Whether a value is true: 1 as Apple requires, or another form that relays make of it.
    private static func isOne(_ text: Span<UInt8>, _ token: JSONToken) -> Bool {
        if token.kind == .true { return true }
        return (token.kind == .number || token.kind == .string) && JSONNumber.integer(text, token.range) == 1
    }
}

extension AppleDictionary {
    /// The value of any key of the dictionary, such as `interruption-level`; nil if the payload does not have it.
    public subscript(key: String) -> DataValue? {
        if storage.aps.kind == .object {
            let buffer = storage.buffer
            if let value = ObjectMembers.value(of: key, buffer.span.extracting(storage.aps.range)) { return value }
        }
        return storage.foreign?.push.apple.first { $0.key.isExactly(key) }?.value
    }

    /// All members, in the order of the payload.
    public var members: [(key: String, value: DataValue)] {
        let buffer = storage.buffer
        var members: [(key: String, value: DataValue)] = []
        if case .object(let own) = DataValue(buffer.span, storage.aps) { members = own }
        for parameter in storage.foreign?.push.apple ?? []
        where !members.contains(where: { $0.key.isExactly(parameter.key) }) {
            members.append(parameter)
        }
        return members
    }

    /// The keys, in the order of the payload.
    public var keys: [String] { members.map(\.key) }

    /// Decodes a value from the dictionary, as ``MessageData/decode(_:)`` does from the data.
    ///
    /// - Throws: `DecodingError` with the path of a key that is missing or has another type.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
        try Value(from: DataDecoder(.object(members), path: []))
    }
}

extension AppleDictionary: Hashable {
    /// Whether two dictionaries are equal; the order of members is ignored.
    public static func == (left: AppleDictionary, right: AppleDictionary) -> Bool {
        left.alert == right.alert && DataValue.object(left.members) == .object(right.members)
    }

    /// Hashes the members that differ most often.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(alert)
        hasher.combine(badge)
    }
}

extension JSONToken {
    func plainString(in text: Span<UInt8>) -> String? { kind == .string ? string(in: text) : nil }
}
