/// A handler declared a write for more messages than its route may: 20 at once, and then six a minute.
///
/// Let the handler throw it: a `PushService` runs it again at ``endsAt``, without counting the attempt. Declare a write
/// before other effects, which would be repeated.
public struct WriteBudgetSpent: ResourceShortage, Sendable, Hashable, CustomStringConvertible {
    /// The route.
    public let route: String
    /// When the handler may declare the write; each refused message has another time.
    public let endsAt: MonotonicInstant?

    /// What was refused, and what lifts that.
    public var description: String {
        "route \(Suggestion.shown(route)) has written for 20 messages and may write again in seconds; "
            + "\"pace\": \"unlimited\" in the rule, or RouteOptions(pace: .unlimited), lifts this"
    }
}
