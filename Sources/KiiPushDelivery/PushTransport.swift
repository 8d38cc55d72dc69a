public import KiiPush

/// Delivers payloads to a ``PushService``, and acknowledges them to their sender.
///
/// Write one for your own network: submit each payload to the intake, and acknowledge it when its receipt allows it.
/// Guarantees to the service:
/// - ``run(_:)`` returns soon after its task is cancelled. It handles lost connections itself: it reconnects, with
///   growing pauses.
/// - A payload is acknowledged only if ``Receipt/isStored`` is true, or when it has ended with `Disposition.accept` or
///   `Disposition.reject`. Any other is delivered again, if the network can.
/// - It holds no more payloads than the intake accepts: while the intake is full, it stops reading.
/// - Payloads of one sender are submitted in order.
///
/// To test a transport of yours, run `TransportContract` from KiiPushContracts; it checks those that can be seen from
/// outside.
public protocol PushTransport: Sendable {
    /// Its name in logs and metrics, such as `mqtt` or `stdin`; without secrets or addresses.
    var name: String { get }

    /// What it can do about a payload that it has submitted.
    var abilities: TransportAbilities { get }

    /// Submits payloads until it has no more, or its task is cancelled.
    ///
    /// - Parameter intake: accepts the payloads; it is valid until `run` has returned.
    /// - Throws: if it can never have payloads again, for example because of invalid settings. It does not throw if it
    ///   was cancelled; but it may throw on ``IntakeRefusal/stopping``, which counts as a return.
    func run(_ intake: PushIntake) async throws
}

/// What a transport can do about a payload that it has submitted.
public struct TransportAbilities: OptionSet, Sendable, Hashable {
    /// The bits.
    public let rawValue: Int

    /// Makes a set from its bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// It acknowledges processed payloads to the sender.
    public static let acknowledges = TransportAbilities(rawValue: 1)
    /// It notifies the sender of payloads that were not accepted.
    public static let refuses = TransportAbilities(rawValue: 2)
    /// Payloads that are not acknowledged are delivered again.
    public static let redelivers = TransportAbilities(rawValue: 4)
    /// It passes a receipt's ``Receipt/answer`` on to the sender.
    public static let answers = TransportAbilities(rawValue: 8)
}

/// An event of a transport, for logs and alarms.
@nonexhaustive
public enum TransportEvent: Sendable, Hashable {
    /// It is connected; the detail says how, such as the quality of service that was granted.
    case connected(String)
    /// The connection was lost or could not be made, and why; it reconnects after the pause.
    case disconnected(String, retryIn: Duration)
    /// The server refused the connection, for example for a wrong password, and why; it tries again after the pause,
    /// which grows.
    ///
    /// It is reported once, not for each further refusal with the same reason.
    case refused(String, retryIn: Duration)
    /// Messages may have been lost irrecoverably, and why: a session that the broker forgot, a queue that overflowed, a
    /// quality of service without acknowledgement.
    ///
    /// With a cause, it is a `Gap`: the receiver's routes for gaps run before new messages of the transport. Without
    /// one, it is a warning that messages may be lost later.
    case possibleGap(String, cause: Gap.Cause? = nil)
    /// Useless input was ignored, such as a message of another topic or a changed file that cannot be read; of many,
    /// only the first is reported.
    case ignored(String)
}
