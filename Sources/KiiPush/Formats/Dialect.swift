/// The key style of a payload, or that it has none of Kii's keys.
@nonexhaustive
public enum Dialect: String, Sendable, Hashable {
    /// Apple's: an `aps` object and short keys.
    case apns
    /// Long keys, as over FCM, GCM and MQTT.
    case long
    /// JPush's: long keys, flat or as JSON inside an extra.
    case jpush
    /// A Thing-IF command: no Kii keys, and a body of its own.
    case thingIF
    /// Another system's, read by a ``PayloadFormat``: no Kii keys. ``PushMessage/format`` names it.
    case foreign

    /// The dialect of a payload without an envelope.
    ///
    /// Short keys alone are no evidence: `s`, `t` and `to` are likely names for a sender's own data.
    static func plain(_ format: Transport.Format, _ root: RootMembers, _ text: Span<UInt8>) -> Dialect {
        switch format {
        case .apns: .apns
        case .fcm, .mqtt: .long
        case .jpush: .jpush
        case .gap, .unknown: root.hasAppleDictionary && !root.isFCMForApple(text) ? .apns : .long
        }
    }

    package var hasShortKeys: Bool { self == .apns }
    var hasKiiKeys: Bool { self != .foreign }
}
