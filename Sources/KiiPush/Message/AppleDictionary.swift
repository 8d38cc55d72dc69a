/// Apple's `aps` dictionary, whose keys say how a push is shown.
///
/// The keys that most handlers need are properties; values of the wrong type count as absent. ``subscript(_:)`` returns
/// every other key, including those that Apple adds later. In a QuickBlox event, the parameters for iOS (`ios_badge`
/// and the like) count as Apple's keys. The names are from Apple's payload key reference.
public struct AppleDictionary: Sendable {
    /// The text that is shown.
    public private(set) var alert: Alert?
    /// The number on the app's icon.
    public private(set) var badge: Int64?
    /// The sound's file name.
    public private(set) var sound: String?
    /// The category that determines the action buttons.
    public private(set) var category: String?
    /// The thread that notifications are grouped by.
    public private(set) var threadID: String?
    /// Whether `content-available` is 1: the push wakes the app.
    public private(set) var contentAvailable = false
    /// Whether `mutable-content` is 1: an extension may change the push first.
    public private(set) var mutableContent = false

    /// Whether the push shows nothing: it wakes the app and has no alert.
    public var isSilent: Bool { contentAvailable && alert == nil }

    private let storage: MessageStorage

    private static let names = [
        "alert", "badge", "sound", "category", "thread-id", "content-available", "mutable-content",
    ]

    init?(_ storage: MessageStorage) {
        self.storage = storage
        let parameters = storage.foreign?.push.apple ?? []
        guard storage.aps.kind == .object || !parameters.isEmpty else { return nil }
        var seen: Set<String> = []
        if storage.aps.kind == .object {
            let buffer = storage.buffer
            let text = buffer.span
            var members = ObjectMembers(text, at: Int(storage.aps.start))
            while let (key, value) = members.next(text) {
                // The first of duplicate nested keys counts.
                guard let name = key.find(in: text, Self.names), seen.insert(name).inserted else { continue }
                take(name, text, value)
            }
        }
        for (name, value) in parameters where seen.insert(name).inserted { take(name, value) }
        // The text counts as a parameter only beside others: a push with nothing but text has no dictionary.
        if !parameters.isEmpty, alert == nil { alert = storage.foreign?.push.alert }
    }

    private mutating func take(_ name: String, _ text: Span<UInt8>, _ value: JSONToken) {
        switch name {
        case "alert": alert = Alert(text, value)
        case "badge": badge = value.kind == .number ? JSONNumber.integer(text, value.range) : nil
        case "sound": sound = value.plainString(in: text)
        case "category": category = value.plainString(in: text)
        case "thread-id": threadID = value.plainString(in: text)
        case "content-available": contentAvailable = Self.isOne(text, value)
        // The last name: mutable-content.
        default: mutableContent = Self.isOne(text, value)
        }
    }

    /// Sets a value that a format has read; numbers may be strings, like most of QuickBlox's.
    private mutating func take(_ name: String, _ value: DataValue) {
        switch name {
        case "badge": badge = value.integer
        case "sound": sound = value.string
        case "category": category = value.string
        case "thread-id": threadID = value.string
        case "content-available": contentAvailable = value.bool ?? false
        case "mutable-content": mutableContent = value.bool ?? false
        default: break
        }
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
    /// The name that this key token spells, if it is one of `names`.
    func find(in text: Span<UInt8>, _ names: [String]) -> String? {
        names.first { matches($0.utf8.span, in: text) }
    }

    /// The text of a string; nil for any other value.
    func plainString(in text: Span<UInt8>) -> String? { kind == .string ? string(in: text) : nil }
}
