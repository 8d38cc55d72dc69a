public import KiiPush

/// Fields for FCM devices only, including delivery options.
public struct FCMFields: Sendable, Hashable {
    /// Whether the push goes to FCM devices.
    public var isEnabled = true
    /// Data for FCM devices only; strings only.
    public var data = KeyedData()
    /// The key by which FCM replaces an older undelivered push.
    public var collapseKey: String?
    /// Whether FCM waits until the device is in use.
    public var delayWhileIdle: Bool?
    /// The largest ``timeToLive``: 28 days.
    static let mostTimeToLive = 2_419_200

    /// How long FCM keeps the push for an offline device, in seconds: 0 to 28 days.
    public var timeToLive: Int?
    /// The only package that may receive the push.
    public var restrictedPackageName: String?
    /// Whether FCM validates the push without sending it.
    public var dryRun: Bool?
    /// The notification that Android shows by itself: an object with `title`, `body` and the like.
    public var notification: DataValue?
    /// Whether the request names the fields `gcm`, as before FCM, instead of `fcm`.
    public var isNamedGCM = false

    /// Sends to FCM devices, with optional data of their own.
    public init(isEnabled: Bool = true, data: KeyedData = [:]) {
        self.isEnabled = isEnabled
        self.data = data
    }
}

/// Fields for MQTT devices only, including delivery options.
public struct MQTTFields: Sendable, Hashable {
    /// Whether the push goes to MQTT devices.
    public var isEnabled = true
    /// Data for MQTT devices only.
    public var data = KeyedData()
    /// Whether the server validates the push without sending it; seen in one client.
    public var dryRun: Bool?
    /// Whether the broker keeps the push for later subscribers; seen in one client.
    public var retain: Bool?
    /// The quality of service; seen in one client, while Kii documents 0 only.
    public var qos: Int?

    /// Sends to MQTT devices, with optional data of their own.
    public init(isEnabled: Bool = true, data: KeyedData = [:]) {
        self.isEnabled = isEnabled
        self.data = data
    }
}

/// Fields for JPush devices only.
public struct JPushFields: Sendable, Hashable {
    /// Whether the push goes to JPush devices.
    public var isEnabled = false
    /// Data for JPush devices only.
    public var data = KeyedData()

    /// Disables JPush, or sends with optional data of its own.
    public init(isEnabled: Bool = false, data: KeyedData = [:]) {
        self.isEnabled = isEnabled
        self.data = data
    }
}

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

    /// The alert as an object, with one kind of names.
    func object(_ name: (Part) -> String, locArgs key: String) -> DataValue {
        var members: [(key: String, value: DataValue)] = Self.parts.compactMap { part in
            self[keyPath: part.path].map { (name(part), .string($0)) }
        }
        if !locArgs.isEmpty { members.append((key, .array(locArgs.map { .string($0) }))) }
        return .object(members)
    }
}
