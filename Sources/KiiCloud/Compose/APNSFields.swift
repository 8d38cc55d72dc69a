/// Fields for APNs devices only, including the alert that Apple shows.
public struct APNSFields: Sendable, Hashable {
    /// The alert, in Kii's request and in Apple's dictionary.
    public struct Alert: Sendable, Hashable {
        /// The title.
        public var title: String?
        /// The line under the title.
        public var subtitle: String?
        /// The text.
        public var body: String?
        /// The localization key of the button's text.
        public var actionLocKey: String?
        /// The localization key of the body.
        public var locKey: String?
        /// The arguments of that localized text.
        public var locArgs: [String] = []
        /// The launch image.
        public var launchImage: String?

        /// An alert with texts; set its other fields afterwards.
        public init(title: String? = nil, subtitle: String? = nil, body: String? = nil) {
            self.title = title
            self.subtitle = subtitle
            self.body = body
        }
    }

    /// Whether the push goes to APNs devices.
    public var isEnabled = true
    /// Data for APNs devices only.
    public var data = KeyedData()
    /// The alert; nil for a push that shows nothing.
    public var alert: Alert?
    /// Whether the app is woken, as a silent push needs; nil omits the key.
    public var contentAvailable: Bool?
    /// Whether an extension may change the push first; nil omits the key.
    public var mutableContent: Bool?
    /// The category, which selects the action buttons.
    public var category: String?
    /// The number on the app's icon.
    public var badge: Int?
    /// The sound's file name.
    public var sound: String?

    /// Sends to APNs devices, and shows `alert`.
    public init(isEnabled: Bool = true, alert: Alert? = nil, data: KeyedData = [:]) {
        self.isEnabled = isEnabled
        self.alert = alert
        self.data = data
    }
}

extension APNSFields.Alert {
    /// A text of the alert: its name in Kii's request, its name in Apple's dictionary, and its property.
    struct Part {
        let name: String
        let appleName: String
        let path: WritableKeyPath<APNSFields.Alert, String?>
    }

    /// The texts in the order of writing; the arguments follow `locKey`.
    static var parts: [Part] {
        [
            Part(name: "title", appleName: "title", path: \.title),
            Part(name: "subtitle", appleName: "subtitle", path: \.subtitle),
            Part(name: "body", appleName: "body", path: \.body),
            Part(name: "actionLocKey", appleName: "action-loc-key", path: \.actionLocKey),
            Part(name: "locKey", appleName: "loc-key", path: \.locKey),
            Part(name: "launchImage", appleName: "launch-image", path: \.launchImage),
        ]
    }
}
