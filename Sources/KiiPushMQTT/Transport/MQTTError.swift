/// Why an MQTT transport has given up: a retry would fail in the same way.
///
/// A broker's refusal is not one of these: it is reported as `TransportEvent.refused`, and retried.
@nonexhaustive
public enum MQTTError: Error, Sendable, Hashable {
    /// The settings are invalid; the text names them and their position.
    case settings(String)
    /// The client library would acknowledge messages too early; the text is the library's version.
    case acknowledgesEarly(String)
    /// The client library does not work; the text is its reason.
    case library(String)
}

extension MQTTError: CustomStringConvertible {
    /// One line for people, with a remedy.
    public var description: String {
        switch self {
        case .settings(let what): what
        case .acknowledgesEarly(let version):
            "ack already sent before commit: libmosquitto \(version) would lose messages in a crash; use Debian's"
        case .library(let reason): "libmosquitto does not work: \(reason)"
        }
    }
}

/// The counters of an MQTT transport since it was made, for metrics.
public struct MQTTCounts: Sendable, Hashable {
    /// Payloads that the intake has accepted, including redeliveries.
    public var taken = 0
    /// Messages of other topics: acknowledged and ignored.
    public var otherTopic = 0
    /// Messages with a larger payload than the limit: acknowledged and ignored.
    public var tooLarge = 0
    /// Messages whose properties exceeded a bound and were left out in part.
    public var cutProperties = 0
    /// Answers to subscriptions that this connection did not request: ignored.
    public var foreignAnswers = 0

    /// All counters at zero.
    public init() {}
}
