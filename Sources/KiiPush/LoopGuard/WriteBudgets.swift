/// For how many messages each route may declare writes: 20 at once, and then six a minute.
struct WriteBudgets {
    /// How many seconds earn a further message: more than an object's floor, since a loop's writes are its events.
    private static let every = 10.0

    private struct Budget {
        /// How many messages count at a time.
        var used = 0.0
        var at: Double
        /// The last ones that were counted.
        var last: [UInt64] = []
        /// When the last one of those that were refused may write, and since when there have been such.
        var promised = -Double.infinity
        var refusedSince = 0.0
        var reportedAt = -Double.infinity
    }

    private var budgets: [ExactText: Budget] = [:]

    /// Takes a message that writes from a route's budget; if the budget is spent, returns when it may write, and the
    /// route unless that was reported within a minute.
    ///
    /// Further writes for the same message are free, so that one that needs many can succeed. Each refused message gets
    /// another time, so that those that come again then need not run in vain; at most an hour ahead.
    mutating func spend(
        _ route: String, for messageID: UInt64, _ now: Double
    ) -> (endsAt: Double, news: PacedKey?)? {
        let key = ExactText(route)
        // Too many routes: all begin anew.
        if budgets[key] == nil, budgets.count >= Paces.mostRoutes { budgets = [:] }
        var budget = budgets[key] ?? Budget(at: now)
        defer { budgets[key] = budget }
        if budget.last.contains(messageID) { return nil }
        (budget.used, budget.at) = (max(0, budget.used - max(0, now - budget.at) / Self.every), now)
        let lack = budget.used - (Pace.burst - 1)
        if lack <= 0 {
            budget.used += 1
            budget.last = budget.last.suffix(Int(Pace.burst) - 1) + [messageID]
            return nil
        }
        if budget.promised <= now { budget.refusedSince = now }
        budget.promised = min(max(now + lack * Self.every, budget.promised + Self.every), now + Pace.hour)
        guard now - budget.reportedAt >= PaceTable.reportPause else { return (budget.promised, nil) }
        budget.reportedAt = now
        return (budget.promised, Self.key(of: route, budget, now))
    }

    /// The routes whose messages wait for their budget.
    func paced(_ now: Double) -> [PacedKey] {
        budgets.compactMap { route, budget in budget.promised > now ? Self.key(of: route.text, budget, now) : nil }
    }

    private static func key(of route: String, _ budget: Budget, _ now: Double) -> PacedKey {
        PacedKey(
            level: .writes, route: route, subject: "writes", since: MonotonicInstant(seconds: budget.refusedSince),
            waiting: Int(((budget.promised - now) / every).rounded(.up)))
    }
}
