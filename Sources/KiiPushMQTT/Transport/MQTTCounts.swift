/// The counters of an MQTT transport since it was made, for metrics.
public struct MQTTCounts: Sendable, Hashable {
    /// Payloads that the intake has accepted, including redeliveries.
    public var taken = 0
    /// Messages of other topics: acknowledged and ignored.
    public var otherTopic = 0
    /// Messages with a larger payload than the limit: acknowledged, and lost, which is a gap.
    public var tooLarge = 0
    /// Messages whose properties exceeded a bound and were left out in part.
    public var cutProperties = 0
    /// Answers to subscriptions that this connection did not request: ignored.
    public var foreignAnswers = 0

    /// All counters at zero.
    public init() {}
}
