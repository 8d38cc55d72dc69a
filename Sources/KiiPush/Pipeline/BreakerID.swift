/// The messages that a breaker counts: of one object, topic and sender, or conversation; of one bucket or topic; of one
/// route; or of the device.
@nonexhaustive
public enum BreakerLevel: String, Sendable, Hashable, CaseIterable {
    /// Messages of one object, else of one topic and sender, else of one conversation.
    case object
    /// Messages of one bucket or topic.
    case bucket
    /// Messages of one route.
    case route
    /// All messages.
    case device
}

/// One breaker of the loop guard, by its key.
package struct BreakerID: Sendable, Hashable {
    let level: BreakerLevel
    let key: ResourceKey
}
