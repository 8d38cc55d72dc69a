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
