/// What only APNs devices get, and what Apple shows of it.
public struct APNSFields: Sendable, Hashable {
    /// What Apple shows, in Kii's request and in Apple's dictionary.
    public struct Alert: Sendable, Hashable {
        /// The title.
        public var title: String?
        /// The line under the title.
        public var subtitle: String?
        /// The text.
        public var body: String?
        /// The key of the app's own text for the button.
        public var actionLocKey: String?
        /// The key of the app's own text for the body.
        public var locKey: String?
        /// What is put into that text.
        public var locArgs: [String] = []
        /// The image that is shown while the app starts.
        public var launchImage: String?

        /// An alert of texts; set its other parts afterwards.
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
    /// What is shown; nil for a push that shows nothing.
    public var alert: Alert?
    /// Whether the app is woken, as a silent push needs; nil leaves the key out.
    public var contentAvailable: Bool?
    /// Whether an extension may change the push first; nil leaves the key out.
    public var mutableContent: Bool?
    /// The category that decides about action buttons.
    public var category: String?
    /// The number on the app's icon.
    public var badge: Int64?
    /// The sound's file name.
    public var sound: String?

    /// Sends to APNs devices, showing what `alert` says.
    public init(isEnabled: Bool = true, alert: Alert? = nil, data: KeyedData = [:]) {
        self.isEnabled = isEnabled
        self.alert = alert
        self.data = data
    }
}

extension APNSFields.Alert {
    /// A text of the alert: its name in Kii's request, its name in Apple's dictionary, and where it is kept.
    struct Part {
        let name: String
        let appleName: String
        let path: WritableKeyPath<APNSFields.Alert, String?>
    }

    /// The texts in the order in which they are written; the arguments stand behind `locKey`.
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
