/// How a service delivers a message: how often it tries, what keeps messages in order, how long a handler may run.
///
/// A service has settings for all messages, and a route may have its own. If several routes match a message, the
/// settings of the first one count, and each route's own ``timeout`` and ``maxAge``.
public struct DeliverySettings: Sendable, Hashable {
    /// The ordering key: messages with the same key run one after another, in one lane.
    public enum Order: String, Sendable, Hashable, CaseIterable {
        /// The object, else the topic, else the sender; messages with none of them are not ordered.
        case object
        /// The topic.
        case topic
        /// The sender.
        case sender
        /// No order.
        case none
    }

    /// What happens to the messages behind one that failed and is retried.
    public enum OnFailure: String, Sendable, Hashable, CaseIterable {
        /// They wait, so that the order is kept.
        case block
        /// They overtake it.
        case skip
    }

    /// How many times a message is tried, including the first time: 5.
    public var attempts = 5
    /// The pause before the second attempt, doubled before each further one: 200 ms; each is up to 20% longer or
    /// shorter.
    public var backoff = Duration.milliseconds(200)
    /// The longest pause, before it is made longer or shorter: 30 s; ``backoff`` if that is longer.
    public var maxBackoff = Duration.seconds(30)
    /// How long one run of a handler may take: 60 s; then the service cancels it.
    public var timeout = Duration.seconds(60)
    /// The ordering key: the object.
    public var order = Order.object
    /// An ordering key of your own, used instead of ``order``: none.
    ///
    /// Only for routes that code declares: a rules file cannot express it, and `Route.rule` leaves it out.
    public var orderKey: OrderKey?
    /// What happens to the messages behind a failed one: they wait.
    public var onFailure = OnFailure.block
    /// How old a message may be when a handler would start: nil, any age.
    ///
    /// An older message ends as ``Outcome/expired`` for the route, and its handler is not called. Set it for actions
    /// that must not happen hours later: an alarm, a door, a payment. The age is checked at each attempt. It counts
    /// from ``PushMessage/sentAt``, or from the arrival if the message has no such time or one in the future. It also
    /// applies in a ``PushReceiver`` without a service, if the route sets it. A dead letter that somebody replays may
    /// have any age. The guide <doc:DeliveryGuarantees> explains the effect of a wrong clock.
    public var maxAge: Duration?
    /// Whether a newer change of an object replaces an older one that is still waiting in its lane: no.
    ///
    /// For handlers that fetch the object anyway. A message that was replaced ends as ``Outcome/superseded``.
    public var replacesOlder = false

    /// The defaults.
    public init() {}
}

extension DeliverySettings {
    /// How long to wait after an attempt.
    ///
    /// - Parameters:
    ///   - attempt: which attempt failed, from 1 on.
    ///   - jitter: from -1 to 1; a fifth of it counts.
    /// - Returns: the pause, never less than zero.
    package func pause(after attempt: Int, _ jitter: Double) -> Duration {
        let first = max(backoff, .zero)
        let longest = max(maxBackoff, first)
        var (pause, left) = (first, attempt - 1)
        while left > 0, pause > .zero, pause < longest {
            // Half of the longest first, so that no doubling overflows.
            pause = pause > longest / 2 ? longest : pause * 2
            left -= 1
        }
        return min(pause, longest) * (1 + 0.2 * (jitter.isFinite ? min(max(jitter, -1), 1) : 0))
    }
}
