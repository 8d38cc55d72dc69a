/// The bytes of one push as a transport handed them over, and what the transport knows of them.
///
/// The first thing on a message's way: nothing in it has been read yet. Build one in the transport's callback and
/// give it to ``PushReceiver/receive(_:)``, or to ``PushMessage/init(_:limits:app:)`` to look at it without a receiver.
public struct RawPayload: Sendable, Hashable {
    /// The payload, unchanged; a message keeps this one buffer and makes strings only when asked.
    public var bytes: [UInt8]

    /// The transport that brought the payload, when it is known.
    ///
    /// A stated transport decides which key style is read; without one, the body does.
    public var transport: Transport?

    /// The transport's own id of the message, such as an FCM message id.
    ///
    /// Leave it out for ids that are used again, as MQTT packet identifiers are: it serves as a dedupe key for
    /// messages that have no better one.
    public var transportMessageID: String?

    /// Whether the transport says that it delivers this payload again.
    ///
    /// A hint only: brokers also deliver twice without saying so.
    public var isRedelivered: Bool

    /// Whether the payload may have been sent long before it arrived, since its transport was behind.
    ///
    /// Set it while more lies ready than the transport takes: while it has waited for room, or has found more to read
    /// each time that it looked for a quarter of a second. The loop guard decides nothing by messages that come at the
    /// device's own pace. A store does not keep it.
    public var hasWaited: Bool

    /// When the payload arrived, on the receiver's monotonic clock; the receiver fills it in when it is left out.
    public var arrivedAt: MonotonicInstant?

    /// Wraps a payload's bytes.
    public init(
        _ bytes: [UInt8], transport: Transport? = nil, transportMessageID: String? = nil, isRedelivered: Bool = false,
        hasWaited: Bool = false, arrivedAt: MonotonicInstant? = nil
    ) {
        self.bytes = bytes
        self.transport = transport
        self.transportMessageID = transportMessageID
        self.isRedelivered = isRedelivered
        self.hasWaited = hasWaited
        self.arrivedAt = arrivedAt
    }

    /// Wraps a payload that is at hand as text, as in tests and samples.
    public init(_ text: String, transport: Transport? = nil, transportMessageID: String? = nil) {
        self.init(Array(text.utf8), transport: transport, transportMessageID: transportMessageID)
    }
}

extension RawPayload: CustomStringConvertible {
    /// The transport and the size, and nothing of what the payload says: `mqtt payload, 227 bytes`.
    public var description: String {
        let transport = transport.map { "\(Suggestion.shown($0.name)) " } ?? ""
        return "\(transport)payload, \(counted(bytes.count, "byte"))"
    }
}

/// The network that carried a payload, by name.
///
/// An open set: an agent with a network of its own names it with a string literal. The named ones decide how a
/// payload is read, as each says; any other is read by what stands in the body.
public struct Transport: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The transports that decide how a payload is read.
    enum Format: UInt8 {
        case apns
        case fcm
        case jpush
        case mqtt
        case quickblox
        /// Any other: the body decides.
        case unknown
    }

    /// The name in rules, traces and metrics.
    public let name: String

    /// What the name says of the format; kept, since comparing names costs more than reading many a payload's keys.
    let format: Format

    /// Makes a transport from its name.
    public init(_ name: String) {
        self.name = name
        format =
            switch name {
            case "apns": .apns
            case "fcm": .fcm
            case "jpush": .jpush
            case "mqtt": .mqtt
            case "quickblox": .quickblox
            default: .unknown
            }
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
    /// QuickBlox, whose pushes are no Kii pushes and count as Direct Push.
    public static let quickblox: Transport = "quickblox"

    /// The transport's name.
    public var description: String { name }
}
