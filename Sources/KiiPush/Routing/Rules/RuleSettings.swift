/// The loop guard's settings in a rules file.
public struct RuleLoopSettings: Sendable, Hashable {
    /// When the breaker of one key opens, and for how long.
    public struct Rate: Sendable, Hashable {
        /// How many messages of one key pass within ``per``: 20.
        public var messages = 20
        /// The time within which they are counted: 10 s.
        public var per = Duration.seconds(10)
        /// How long an open breaker stays open before it lets a probe through: 60 s.
        public var coolDown = Duration.seconds(60)

        /// The defaults.
        public init() {}
    }

    /// The limit of the rate breakers.
    public var rate = Rate()
    /// How many handlers may have passed a message on before it is cut: 8.
    public var hops = 8
    /// For how long an announced write cuts the event that it causes: 60 s.
    public var echo = Duration.seconds(60)
    /// Identities that this device writes as and other devices do too.
    ///
    /// Unlike `me` they cut no message by themselves, since it may be another device's; an announced write also cuts
    /// the event that names one of them as its sender.
    public var writesAs: [Sender] = []

    /// The defaults.
    public init() {}
}

/// How the delivery treats a message, in a rules file.
public struct RuleDeliverySettings: Sendable, Hashable {
    /// What keeps messages in order: those with the same key run one after another.
    public enum Order: String, Sendable, Hashable, CaseIterable {
        /// The object, else the topic, else the sender.
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
    /// The pause before the second attempt, doubled before each further one: 200 ms.
    public var backoff = Duration.milliseconds(200)
    /// The longest pause: 30 s, and never less than ``backoff``.
    public var maxBackoff = Duration.seconds(30)
    /// How long one run of a handler may take: 60 s.
    public var timeout = Duration.seconds(60)
    /// What keeps messages in order: the object.
    public var order = Order.object
    /// What becomes of the messages behind a failed one: they wait.
    public var onFailure = OnFailure.block

    /// The defaults.
    public init() {}
}
