/// Apple's `aps` dictionary, whose keys say how a push is shown.
///
/// The keys that most handlers need are properties; values of the wrong type count as absent. ``subscript(_:)`` returns
/// every other key, including those that Apple adds later. In a QuickBlox event, the parameters for iOS (`ios_badge`
/// and the like) count as Apple's keys. The names are from Apple's payload key reference.
public struct AppleDictionary: Sendable, Hashable {
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

    /// All members, in the order of the payload; those that a format has read follow.
    public var members: [(key: String, value: DataValue)] { if case .object(let all) = object { all } else { [] } }

    private let object: DataValue

    init?(_ storage: MessageStorage) {
        let buffer = storage.buffer
        let foreign = storage.foreign?.push
        let read = foreign?.apple ?? []
        var sent: [(key: String, value: DataValue)] = []
        if case .object(let members) = DataValue(buffer.span, storage.aps) {
            sent = members
        } else if read.isEmpty {
            return nil
        }
        // What was sent must have Apple's type. What a format has read may be a string, like most of QuickBlox's.
        func string(_ name: String) -> String? {
            switch sent.value(of: name) {
            case .string(let text)?: text
            case nil: read.value(of: name)?.string
            default: nil
            }
        }
        // Other forms of 1 are what relays make of it.
        func flag(_ name: String) -> Bool {
            sent.value(of: name).map { $0 == .bool(true) || $0.integer == 1 } ?? read.value(of: name)?.bool ?? false
        }
        badge =
            switch sent.value(of: "badge") {
            case .number(let text)?: DataValue.number(text).integer
            case nil: read.value(of: "badge")?.integer
            default: nil
            }
        // The text counts as a parameter only beside others: a push with nothing but text has no dictionary.
        alert = sent.value(of: "alert").flatMap { Alert($0) } ?? (read.isEmpty ? nil : foreign?.alert)
        (sound, category, threadID) = (string("sound"), string("category"), string("thread-id"))
        (contentAvailable, mutableContent) = (flag("content-available"), flag("mutable-content"))
        object = .object(sent + read.filter { sent.value(of: $0.key) == nil })
    }

    /// The value of any key of the dictionary, such as `interruption-level`; nil if the payload does not have it.
    public subscript(key: String) -> DataValue? { members.value(of: key) }

    /// The keys, in the order of the payload.
    public var keys: [String] { members.map(\.key) }

    /// Decodes a value from the dictionary, as ``MessageData/decode(_:)`` does from the data.
    ///
    /// - Throws: `DecodingError` with the path of a key that is missing or has another type.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
        try Value(from: DataDecoder(object, path: []))
    }
}
