/// A handler declared a write for more messages than its route may: 20 at once, and then six a minute.
///
/// Let the handler throw it: a `PushService` tries the message again later, without counting the attempt.
public struct WriteBudgetSpent: ResourceShortage, Sendable, Hashable, CustomStringConvertible {
    /// The route.
    public let route: String

    /// What was refused, and what lifts that.
    public var description: String {
        "route \(Suggestion.shown(route)) has written for 20 messages and may write again in seconds; "
            + "\"pace\": \"unlimited\" in the rule, or RouteOptions(pace: .unlimited), lifts this"
    }
}
