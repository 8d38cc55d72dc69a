/// The writes that each route may declare: 20 at once, and then six a minute.
struct WriteBudgets {
    /// How many routes are known; beyond that, all budgets begin anew.
    private static let mostRoutes = 4096
    /// How many seconds a further write takes to earn, as long as an object's floor: a loop's writes are its events.
    static let every = 10.0

    private var used: [ResourceKey: (writes: Double, at: Double)] = [:]

    /// Takes a write from a route's budget; false if that is spent.
    mutating func spend(_ route: Route, _ now: Double) -> Bool {
        if used.count >= Self.mostRoutes { used = [:] }
        let (writes, at) = used[ResourceKey(route)] ?? (0, now)
        let left = max(0, writes - (now - at) / Self.every)
        guard left <= Pace.burst - 1 else { return false }
        used[ResourceKey(route)] = (left + 1, now)
        return true
    }
}

/// A handler declared more writes than its route may: 20 at once, and then six a minute.
///
/// Let the handler throw it: a `PushService` tries the message again later, without counting the attempt.
public struct WriteBudgetSpent: ResourceShortage, Sendable, Hashable, CustomStringConvertible {
    /// The route.
    public let route: String

    /// What was refused, and what lifts that.
    public var description: String {
        "route \(Suggestion.shown(route)) has written 20 times and may write again in seconds; \"pace\": \"unlimited\" in the "
            + "rule, or RouteOptions(pace: .unlimited), lifts this"
    }
}
