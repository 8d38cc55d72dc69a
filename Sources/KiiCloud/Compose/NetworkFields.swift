public import KiiPush

/// What only FCM devices get, and how FCM is to deliver it.
public struct FCMFields: Sendable, Hashable {
    /// Whether the push goes to FCM devices.
    public var isEnabled = true
    /// Data for FCM devices only; strings only.
    public var data = KeyedData()
    /// The key by which FCM replaces an older push that waits for the device.
    public var collapseKey: String?
    /// Whether FCM waits until the device is in use.
    public var delayWhileIdle: Bool?
    /// How long FCM keeps the push for a device that is away, in seconds.
    public var timeToLive: Int64?
    /// The only package that may get the push.
    public var restrictedPackageName: String?
    /// Whether FCM only looks at the push and sends nothing.
    public var dryRun: Bool?
    /// What Android shows by itself: an object with `title`, `body` and the like.
    public var notification: DataValue?
    /// Whether the request names the fields `gcm`, as before FCM; `fcm` otherwise.
    public var isNamedGCM = false

    /// Sends to FCM devices with nothing of their own.
    public init(isEnabled: Bool = true, data: KeyedData = [:]) {
        self.isEnabled = isEnabled
        self.data = data
    }
}

/// What only MQTT devices get, and how the broker is to deliver it.
public struct MQTTFields: Sendable, Hashable {
    /// Whether the push goes to MQTT devices.
    public var isEnabled = true
    /// Data for MQTT devices only.
    public var data = KeyedData()
    /// Whether the server only looks at the push and sends nothing; seen in one client.
    public var dryRun: Bool?
    /// Whether the broker keeps the push for those who subscribe later; seen in one client.
    public var retain: Bool?
    /// The quality of service; seen in one client, while Kii documents 0 only.
    public var qos: Int64?

    /// Sends to MQTT devices with nothing of their own.
    public init(isEnabled: Bool = true, data: KeyedData = [:]) {
        self.isEnabled = isEnabled
        self.data = data
    }
}

/// What only JPush devices get.
public struct JPushFields: Sendable, Hashable {
    /// Whether the push goes to JPush devices.
    public var isEnabled = false
    /// Data for JPush devices only.
    public var data = KeyedData()

    /// Sends nothing to JPush devices, or sends with nothing of their own.
    public init(isEnabled: Bool = false, data: KeyedData = [:]) {
        self.isEnabled = isEnabled
        self.data = data
    }
}
