public import KiiPush

/// A network that carries a push to devices.
@nonexhaustive
public enum PushNetwork: String, Sendable, Hashable, CaseIterable {
    /// Apple's push service: short keys, and Apple's dictionary.
    case apns
    /// Firebase Cloud Messaging, once GCM: long keys, every value a string.
    case fcm
    /// JPush: long keys.
    case jpush
    /// MQTT: long keys, and the two URIs.
    case mqtt

    /// The largest payload in bytes of UTF-8; nil if Kii documents no limit, as for JPush.
    public var limit: Int? {
        switch self {
        case .apns: 2048
        case .fcm, .mqtt: 4096
        case .jpush: nil
        }
    }

    /// The transport name of this network's payloads in a receiver.
    public var transport: Transport { Transport(rawValue) }
}
