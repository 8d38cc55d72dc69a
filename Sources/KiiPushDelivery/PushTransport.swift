import KiiPush

/// What brings payloads to a ``PushService``, and tells their sender what became of them.
///
/// Write one for a network of your own: hand each payload to the intake, and acknowledge it when its receipt says that
/// it may be. Promises to the service:
/// - ``run(_:)`` returns soon after its task is cancelled, when it has no more payloads, or throws when it never will
///   have. A link that is lost for a while is its own business: it connects again, with growing pauses.
/// - A payload is acknowledged only when ``Receipt/isStored`` is true or its end has come with `Disposition.accept` or
///   `Disposition.reject`. One that was not is brought again, where the network can do that.
/// - It holds no more payloads than the intake takes: while that is full it stops reading.
/// - Payloads of one sender are handed over in their order.
///
/// To test a transport of yours, run `TransportContract` from KiiPushContracts; it checks each of these.
public protocol PushTransport: Sendable {
    /// Its name in logs and metrics, such as `mqtt` or `stdin`; no secret, no address.
    var name: String { get }

    /// What it can do about a payload that it has handed over.
    var abilities: TransportAbilities { get }

    /// Hands payloads over until it has no more, or its task is cancelled.
    ///
    /// - Parameter intake: takes the payloads; it stays valid until `run` has returned.
    /// - Throws: when it will never have payloads again, such as for settings of no use. Not when it was cancelled; but
    ///   ``IntakeRefusal/stopping`` from the intake may come out, and counts as a return.
    func run(_ intake: PushIntake) async throws
}

/// What a transport can do about a payload that it has handed over.
public struct TransportAbilities: OptionSet, Sendable, Hashable {
    /// The bits.
    public let rawValue: Int

    /// Makes a set of its bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// It tells the sender that a payload is dealt with.
    public static let acknowledges = TransportAbilities(rawValue: 1)
    /// It tells the sender that a payload was not taken, so that the sender knows.
    public static let refuses = TransportAbilities(rawValue: 2)
    /// What is not acknowledged comes again.
    public static let redelivers = TransportAbilities(rawValue: 4)
}

/// What a transport tells of itself, for logs and alarms.
@nonexhaustive
public enum TransportEvent: Sendable, Hashable {
    /// It is connected; the detail says how, such as the quality of service that was granted.
    case connected(String)
    /// The connection is gone, or could not be made, and why; it is made again after the pause.
    case disconnected(String, retryIn: Duration)
    /// The other end does not let it in, such as for a wrong password, and why; it asks again after the pause, which
    /// grows. Told once: not for each further refusal with the same reason.
    case refused(String, retryIn: Duration)
    /// Messages may have been lost that nobody can bring back, and why: a session that the broker forgot, a queue that
    /// ran over, a quality of service without acknowledgement.
    case possibleGap(String)
    /// Something came that is of no use, such as a message of another topic or a changed file that cannot be read, and
    /// was ignored; of many, the first is told.
    case ignored(String)
}
