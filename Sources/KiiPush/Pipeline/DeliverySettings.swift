/// How a service delivers a message: its attempts, the order of messages, and the limits of time.
///
/// A service has settings for all messages, and a route may have its own. If several routes match a message, the
/// settings of the first one count, and each route's own ``timeout`` and ``maxAge``.
public struct DeliverySettings: Sendable, Hashable {
    /// The ordering key: messages with the same key run one after another, in one lane.
    public enum Order: String, Sendable, Hashable, CaseIterable {
        /// The object or the subject of a format, else the topic, the sender, or the MQTT topic but for commands; a
        /// message without any of them is not ordered.
        case object
        /// The topic.
        case topic
        /// The sender.
        case sender
        /// No order.
        case none
    }

    /// What happens to the messages behind one that failed and is retried.
    @nonexhaustive
    public enum OnFailure: String, Sendable, Hashable, CaseIterable {
        /// They wait, so that the order is kept.
        case block
        /// They overtake it.
        case skip
    }

    /// How many times a message is tried, including the first time; by default 5.
    public var attempts = 5
    /// The pause before the second attempt, doubled before each further one; by default 200 ms.
    ///
    /// Each pause is made up to 20% longer or shorter, at random.
    public var backoff = Duration.milliseconds(200)
    /// The longest pause, before it is made longer or shorter; by default 30 s, or ``backoff`` if that is longer.
    ///
    /// What a server requests is added to it: ``ReportedError/requestedPause``.
    public var maxBackoff = Duration.seconds(30)
    /// How long one run of a handler may take before the service cancels it; by default 60 s.
    public var timeout = Duration.seconds(60)
    /// The ordering key; by default the object.
    public var order = Order.object
    /// An ordering key of your own, used instead of ``order``; by default none.
    ///
    /// Only for routes that code declares: a rules file cannot express it.
    public var orderKey: OrderKey?
    /// What happens to the messages behind a failed one; by default they wait.
    public var onFailure = OnFailure.block
    /// How old a message may be when a handler would start; by default nil, any age.
    ///
    /// An older message ends as ``Outcome/expired`` for the route, and its handler is not called. Set it for actions
    /// that must not happen hours later: an alarm, a door, a payment. The age is checked at each attempt, also without
    /// a service if the route sets it, and counts from ``PushMessage/sentAt``, or from the arrival if the message has
    /// no such time or one in the future. A replayed dead letter may have any age. The guide <doc:DeliveryGuarantees>
    /// explains the effect of a wrong clock.
    public var maxAge: Duration?
    /// Whether a newer change of an object replaces an older one that is still waiting in its lane; by default not.
    ///
    /// For handlers that fetch the object anyway. A message that was replaced ends as ``Outcome/superseded``.
    public var replacesOlder = false

    /// The defaults.
    public init() {}
}

extension DeliverySettings {
    /// How long to wait after an attempt, counted from 1; a fifth of the jitter, from -1 to 1, is applied.
    package func pause(after attempt: Int, _ jitter: Double) -> Duration {
        let first = max(backoff, .zero)
        let pause = first.doubled(attempt - 1, upTo: max(maxBackoff, first))
        return pause * (1 + 0.2 * (jitter.isFinite ? min(max(jitter, -1), 1) : 0))
    }
}

/// An ordering key of your own, for messages that no ``DeliverySettings/Order`` keeps in order.
///
/// ```swift
/// var byDevice = DeliverySettings()
/// byDevice.orderKey = OrderKey { message in message.data["device"]?.string }
/// ```
///
/// Messages with the same text, to the byte, are handled one after another, whichever routes they match.
public struct OrderKey: Sendable, Hashable {
    private final class Closure: Sendable {
        let text: @Sendable (PushMessage) -> String?

        init(_ text: @escaping @Sendable (PushMessage) -> String?) { self.text = text }
    }

    private let closure: Closure

    /// Makes a key of a function that returns the text of a message, or nil for one that is not ordered.
    ///
    /// It is called once for each accepted message, while the transport waits: keep it fast.
    public init(_ text: @escaping @Sendable (PushMessage) -> String?) { closure = Closure(text) }

    package func text(of message: PushMessage) -> String? { closure.text(message) }

    /// Whether both come from the same call of the initialiser.
    public static func == (one: OrderKey, other: OrderKey) -> Bool { one.closure === other.closure }

    /// Hashes the key's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(closure)) }
}
