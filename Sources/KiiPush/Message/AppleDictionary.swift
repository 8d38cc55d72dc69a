/// What a push shows to a person: Apple's `alert`, be it a string or an object.
public struct Alert: Sendable, Hashable {
    /// The title.
    public let title: String?
    /// The line under the title.
    public let subtitle: String?
    /// The text; all there is when the alert is a plain string.
    public let body: String?
}

/// Apple's `aps` dictionary, with the keys that say how a push is shown.
///
/// Values of the wrong type count as absent. From Apple's payload key reference.
public struct AppleDictionary: Sendable, Hashable {
    /// What is shown.
    public private(set) var alert: Alert?
    /// The number on the app's icon.
    public private(set) var badge: Int64?
    /// The sound's file name.
    public private(set) var sound: String?
    /// The category that decides about action buttons.
    public private(set) var category: String?
    /// Whether `content-available` is 1: the app is to be woken.
    public private(set) var contentAvailable = false
    /// Whether `mutable-content` is 1: an extension may change the push first.
    public private(set) var mutableContent = false

    /// Whether the push shows nothing: it wakes the app and has no alert.
    public var isSilent: Bool { contentAvailable && alert == nil }

    private static let names = ["alert", "badge", "sound", "category", "content-available", "mutable-content"]

    init?(_ storage: MessageStorage) {
        guard storage.aps.kind == .object else { return nil }
        let buffer = storage.buffer
        let text = buffer.span
        var members = ObjectMembers(text, at: Int(storage.aps.start))
        var seen: Set<String> = []
        while let (key, value) = members.next(text) {
            // Of a nested key that stands twice the first counts.
            guard let name = key.find(in: text, Self.names), seen.insert(name).inserted else { continue }
            switch name {
            case "alert": alert = Alert(text, value)
            case "badge": badge = value.kind == .number ? JSONNumber.integer(text, value.range) : nil
            case "sound": sound = Self.string(text, value)
            case "category": category = Self.string(text, value)
            case "content-available": contentAvailable = Self.isOne(text, value)
            // The last of the names: mutable-content.
            default: mutableContent = Self.isOne(text, value)
            }
        }
    }

    fileprivate static func string(_ text: Span<UInt8>, _ token: JSONToken) -> String? {
        token.kind == .string ? token.string(in: text) : nil
    }

    /// Whether a value says yes: 1 as Apple asks for, or what relays make of it.
    private static func isOne(_ text: Span<UInt8>, _ token: JSONToken) -> Bool {
        if token.kind == .true { return true }
        return (token.kind == .number || token.kind == .string) && JSONNumber.integer(text, token.range) == 1
    }
}

extension Alert {
    private static let names = ["title", "subtitle", "body"]

    fileprivate init?(_ text: Span<UInt8>, _ token: JSONToken) {
        if token.kind == .string {
            self.init(title: nil, subtitle: nil, body: token.string(in: text))
            return
        }
        guard token.kind == .object else { return nil }
        var values: [String: String] = [:]
        var seen: Set<String> = []
        var members = ObjectMembers(text, at: Int(token.start))
        while let (key, value) = members.next(text) {
            guard let name = key.find(in: text, Self.names), seen.insert(name).inserted else { continue }
            values[name] = AppleDictionary.string(text, value)
        }
        self.init(title: values["title"], subtitle: values["subtitle"], body: values["body"])
    }
}

extension JSONToken {
    /// The one of `names` that this token of a key spells; other keys make no string.
    fileprivate func find(in text: Span<UInt8>, _ names: [String]) -> String? {
        names.first { matches($0.utf8.span, in: text) }
    }
}
