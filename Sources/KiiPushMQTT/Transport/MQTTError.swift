/// Why an MQTT transport has given up: a retry would fail in the same way.
///
/// A broker's refusal is not one of these: it is reported as `TransportEvent.refused`, and retried.
@nonexhaustive
public enum MQTTError: Error, Sendable, Hashable {
    /// The client library would acknowledge messages too early; the text is the library's version.
    case acknowledgesEarly(String)
    /// The client library does not work; the text is its reason.
    case library(String)
}

extension MQTTError: CustomStringConvertible {
    /// One line for people, with a remedy.
    public var description: String {
        switch self {
        case .acknowledgesEarly(let version):
            "ack already sent before commit: libmosquitto \(version) would lose messages in a crash; use Debian's"
        case .library(let reason): "libmosquitto does not work: \(reason)"
        }
    }
}
