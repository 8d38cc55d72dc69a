/// How the delivery treats a message: how often it is tried, what keeps it in order, how long a handler may take.
///
/// A service has one for all messages, and a route may have its own; of a message that several routes take, the first
/// route's counts, and each route's own ``timeout`` and ``maxAge``.
public struct DeliverySettings: Sendable, Hashable {
    /// What keeps messages in order: those with the same key run one after another, in one lane.
    public enum Order: String, Sendable, Hashable, CaseIterable {
        /// The object, else the topic, else the sender; a message that has none of them is in no order.
        case object
        /// The topic.
        case topic
        /// The sender.
        case sender
        /// Nothing.
        case none
    }

    /// What becomes of the messages behind one that failed and is tried again.
    public enum OnFailure: String, Sendable, Hashable, CaseIterable {
        /// They wait, so that the order holds.
        case block
        /// They go ahead.
        case skip
    }

    /// How often a message is tried, the first time included: 5.
    public var attempts = 5
    /// The pause before the second attempt, doubled before each further one: 200 ms; each is up to 20% longer or shorter.
    public var backoff = Duration.milliseconds(200)
    /// The longest pause, before it is made longer or shorter: 30 s; ``backoff`` where that is longer.
    public var maxBackoff = Duration.seconds(30)
    /// How long one run of a handler may take: 60 s; then it is cancelled.
    public var timeout = Duration.seconds(60)
    /// What keeps messages in order: the object.
    public var order = Order.object
    /// What keeps messages in order instead of ``order``: nothing.
    ///
    /// For routes that code declares: a rules file has no word for it, and ``Route/rule`` leaves it out.
    public var orderKey: OrderKey?
    /// What becomes of the messages behind a failed one: they wait.
    public var onFailure = OnFailure.block
    /// How old a message may be when a handler would start: any age, nil.
    ///
    /// An older one ends as ``Outcome/expired`` for the route, and its handler is not called: for an alarm, a door, a
    /// payment, which must not act hours later. The age is judged at each attempt, and counts from
    /// ``PushMessage/sentAt``, or from the arrival of a message that has none or seems to be sent in the future. It counts
    /// in a ``PushReceiver`` without a service too, where the route has it. A dead letter that somebody replays may have any
    /// age. The guide <doc:DeliveryGuarantees> says what a wrong clock does.
    public var maxAge: Duration?
    /// Whether a newer change of an object takes the place of an older one that still waits in its lane: no.
    ///
    /// For handlers that fetch the object anyway. What was replaced ends as ``Outcome/superseded``.
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
