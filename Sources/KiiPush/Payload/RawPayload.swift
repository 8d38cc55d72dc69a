/// The bytes of one push as a transport delivered them, and the transport's information about them.
///
/// The bytes are not decoded yet. Make one in the transport's callback and pass it to ``PushReceiver/receive(_:)``, or
/// to ``PushMessage/init(_:limits:app:formats:)`` to inspect it without a receiver.
public struct RawPayload: Sendable, Hashable {
    /// The payload, unchanged; a message keeps this buffer and makes strings on demand.
    public var bytes: [UInt8]

    /// The transport that delivered the payload: it determines the key style, and without one, the body does.
    public var transport: Transport?

    /// The transport's own id of the message, such as an FCM message id.
    ///
    /// Leave it out for ids that are reused, like MQTT packet identifiers: together with ``transport``, it is the
    /// deduplication key of messages that have no better one. Without a transport, it does not count.
    public var transportMessageID: String?

    /// Whether the transport marks this payload as a redelivery; a hint, since brokers also redeliver without a mark.
    public var isRedelivered: Bool

    /// Whether the payload may have been sent long before it arrived, because its transport was behind.
    ///
    /// Set it while the transport has a backlog: while it has waited for capacity, or has found more to read at every
    /// attempt for a quarter of a second. The loop guard does not count such messages as proof of outside traffic. A
    /// store does not keep it.
    public var hasWaited: Bool

    /// When the payload arrived, on the receiver's monotonic clock; nil, or a time to come, lets the receiver set it.
    public var arrivedAt: MonotonicInstant?

    /// What an MQTT broker said of it; nil for other transports.
    ///
    /// A message whose ``MQTTPublish/expirySeconds`` have passed since its arrival ends as ``Outcome/expired``.
    public var mqtt: MQTTPublish? {
        get { publish?.first }
        set { publish = newValue.map { [$0] } }
    }

    var hasMQTT: Bool { publish != nil }

    // An array of one, which is by reference: a payload is copied often, and rarely asked for it.
    private var publish: [MQTTPublish]?

    /// The bytes of the payload and of what came with it, which a store must keep.
    package var size: Int { bytes.count + (mqtt?.bytes ?? 0) }

    /// Wraps a payload's bytes.
    public init(
        _ bytes: [UInt8], transport: Transport? = nil, transportMessageID: String? = nil, isRedelivered: Bool = false,
        hasWaited: Bool = false, arrivedAt: MonotonicInstant? = nil
    ) {
        self.bytes = bytes
        (self.transport, self.transportMessageID, self.arrivedAt) = (transport, transportMessageID, arrivedAt)
        (self.isRedelivered, self.hasWaited) = (isRedelivered, hasWaited)
    }

    /// Wraps a payload that is a string, as in tests and samples.
    public init(_ text: String, transport: Transport? = nil, transportMessageID: String? = nil) {
        self.init(Array(text.utf8), transport: transport, transportMessageID: transportMessageID)
    }
}

extension RawPayload: CustomStringConvertible {
    /// The transport and the size, without contents: `mqtt payload, 227 bytes`.
    public var description: String {
        let transport = transport.map { "\(Suggestion.shown($0.name)) " } ?? ""
        return "\(transport)payload, \(counted(bytes.count, "byte"))"
    }
}

/// The network that carried a payload, by name.
///
/// The set is open: name your own network with a string literal. The constants here determine how a payload is read;
/// for any other transport, the body does.
public struct Transport: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The transports that determine how a payload is read, by name.
    enum Format: String {
        case apns
        case fcm
        case jpush
        case mqtt
        /// This SDK itself, see ``Gap``.
        case gap = "kiipush.gap"
        /// Any other: the body decides.
        case unknown
    }

    /// The name in rules, traces and metrics.
    public let name: String

    /// The format by the name; stored, because comparing names can cost more than reading a payload's keys.
    let format: Format

    /// Makes a transport from its name.
    public init(_ name: String) {
        self.name = name
        format = Format(rawValue: name) ?? .unknown
    }

    /// Makes a transport from its name.
    public init(stringLiteral name: String) { self.init(name) }

    /// Apple Push Notification service: short keys.
    public static let apns: Transport = "apns"
    /// Firebase Cloud Messaging, once GCM: long keys, every value a string.
    public static let fcm: Transport = "fcm"
    /// JPush: long keys, flat or inside one of its extras.
    public static let jpush: Transport = "jpush"
    /// MQTT: long keys, with `sourceURI` and `senderURI`.
    public static let mqtt: Transport = "mqtt"

    /// This SDK itself, which reports a ``Gap``; no network has this name.
    public static let gap: Transport = "kiipush.gap"

    /// The transport's name.
    public var description: String { name }
}
