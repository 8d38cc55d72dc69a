/// Why an MQTT transport has given up: trying again would end in the same way.
///
/// What a broker refuses is none of these: that is told as `TransportEvent.refused`, and asked for again.
@nonexhaustive
public enum MQTTError: Error, Sendable, Hashable {
    /// The settings are of no use; the text says which, and where they stand.
    case settings(String)
    /// The client library would acknowledge a message before it is safe; the text is the library's version.
    case acknowledgesEarly(String)
    /// The client library does not work at all; the text is its reason.
    case library(String)
}

extension MQTTError: CustomStringConvertible {
    /// One line for a person, with what to do.
    public var description: String {
        switch self {
        case .settings(let what): what
        case .acknowledgesEarly(let version):
            "ack already sent before commit: libmosquitto \(version) would lose messages in a crash; use Debian's"
        case .library(let reason): "libmosquitto does not work: \(reason)"
        }
    }
}
