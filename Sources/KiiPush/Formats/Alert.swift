/// The text that a push shows to a person: Apple's `alert`, a string or an object.
///
/// A sender may name texts of the app instead of sending them: the keys of its `Localizable.strings` and their
/// arguments. Read any other key of the object by `message.aps?["alert"]?["…"]`.
public struct Alert: Sendable, Hashable {
    /// The title.
    public let title: String?
    /// The line under the title.
    public let subtitle: String?
    /// The text; the only part if the alert is a plain string.
    public let body: String?

    /// The key of the app's own text for the title: `title-loc-key`.
    public private(set) var titleLocKey: String?
    /// The arguments of the title's text: `title-loc-args`.
    public private(set) var titleLocArgs: [String] = []
    /// The key of the app's own text for the subtitle: `subtitle-loc-key`.
    public private(set) var subtitleLocKey: String?
    /// The arguments of the subtitle's text: `subtitle-loc-args`.
    public private(set) var subtitleLocArgs: [String] = []
    /// The key of the app's own text for the body: `loc-key`.
    public private(set) var locKey: String?
    /// The arguments of the body's text: `loc-args`.
    public private(set) var locArgs: [String] = []
    /// The key of the app's own text for the button: `action-loc-key`.
    public private(set) var actionLocKey: String?
    /// The image that is shown while the app starts: `launch-image`.
    public private(set) var launchImage: String?

    /// Makes an alert of texts.
    public init(title: String?, subtitle: String?, body: String?) {
        self.title = title
        self.subtitle = subtitle
        self.body = body
    }
}

extension Alert {
    init?(_ value: DataValue) {
        if case .string(let text) = value {
            self.init(title: nil, subtitle: nil, body: text)
            return
        }
        guard case .object = value else { return nil }
        func string(_ name: String) -> String? { if case .string(let text)? = value[name] { text } else { nil } }
        func strings(_ name: String) -> [String] {
            guard case .array(let elements)? = value[name] else { return [] }
            // Arguments are positional, so one that is not a text becomes an empty one.
            return elements.map { $0.string ?? "" }
        }
        self.init(title: string("title"), subtitle: string("subtitle"), body: string("body"))
        (titleLocKey, titleLocArgs) = (string("title-loc-key"), strings("title-loc-args"))
        (subtitleLocKey, subtitleLocArgs) = (string("subtitle-loc-key"), strings("subtitle-loc-args"))
        (locKey, locArgs) = (string("loc-key"), strings("loc-args"))
        (actionLocKey, launchImage) = (string("action-loc-key"), string("launch-image"))
    }
}
