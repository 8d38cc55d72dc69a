/// For how many messages each route may declare writes: 20 at once, and then six a minute.
struct WriteBudgets {
    /// How many routes are known; beyond that, all budgets begin anew.
    private static let mostRoutes = 4096
    /// How many seconds a further write takes to earn, as long as an object's floor: a loop's writes are its events.
    static let every = 10.0

    private var used: [ResourceKey: (messages: Double, at: Double, last: UInt64)] = [:]

    /// Takes a message that writes from a route's budget; false if that is spent.
    ///
    /// Further writes for the same message are free, so that one that needs many can succeed.
    mutating func spend(_ route: Route, for messageID: UInt64, _ now: Double) -> Bool {
        if used.count >= Self.mostRoutes { used = [:] }
        let (messages, at, last) = used[ResourceKey(route)] ?? (0, now, .max)
        if last == messageID { return true }
        let left = max(0, messages - (now - at) / Self.every)
        guard left <= Pace.burst - 1 else { return false }
        used[ResourceKey(route)] = (left + 1, now, messageID)
        return true
    }
}

/// A handler declared a write for more messages than its route may: 20 at once, and then six a minute.
///
/// Let the handler throw it: a `PushService` tries the message again later, without counting the attempt.
public struct WriteBudgetSpent: ResourceShortage, Sendable, Hashable, CustomStringConvertible {
    /// The route.
    public let route: String

    /// What was refused, and what lifts that.
    public var description: String {
        "route \(Suggestion.shown(route)) has written for 20 messages and may write again in seconds; \"pace\": \"unlimited\" in the "
            + "rule, or RouteOptions(pace: .unlimited), lifts this"
    }
}
