/// How the delivery treats a message, in a rules file.
///
/// This version reads and checks these settings, and does not act on them: nothing delivers yet. The lint says so with
/// ``RuleFinding/Code/notYet`` wherever a file has them.
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
