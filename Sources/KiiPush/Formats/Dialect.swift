/// The shape in which a payload writes Kii's fields.
///
/// To add one: a file beside this one that spells its keys or unwraps its envelope, and a case here.
@nonexhaustive
public enum Dialect: String, Sendable, Hashable, CaseIterable {
    /// Apple's: an `aps` object and short keys.
    case apns
    /// Long keys, as over FCM, GCM and MQTT.
    case long

    /// Which one a payload is written in.
    ///
    /// A stated transport decides; else an `aps` that is an object does. Short keys alone prove nothing: `s`, `t` and
    /// `to` are likely names for a sender's own data on the other transports.
    static func recognise(_ root: RootMembers, transport: Transport?) -> Dialect {
        switch transport {
        case .apns?: .apns
        case .fcm?, .jpush?, .mqtt?: .long
        default: root.aps.kind == .object ? .apns : .long
        }
    }
}
