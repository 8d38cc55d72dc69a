/// For how many messages each route may declare writes: 20 at once, and then six a minute.
struct WriteBudgets {
    /// How many seconds earn a further message: more than an object's floor, since a loop's writes are its events.
    private static let every = 10.0
    /// Of each route, the messages that count now, and the last ones that were counted.
    private var used: [ExactText: (messages: Double, at: Double, last: [UInt64])] = [:]

    /// Takes a message that writes from a route's budget; false if that is spent.
    ///
    /// Further writes for the same message are free, so that one that needs many can succeed.
    mutating func spend(_ route: String, for messageID: UInt64, _ now: Double) -> Bool {
        let key = ExactText(route)
        // Too many routes: all begin anew.
        if used.count >= Paces.mostRoutes, used[key] == nil { used = [:] }
        let (messages, at, last) = used[key] ?? (0, now, [])
        if last.contains(messageID) { return true }
        let left = max(0, messages - (now - at) / Self.every)
        guard left <= Pace.burst - 1 else { return false }
        used[key] = (left + 1, now, last.suffix(Int(Pace.burst) - 1) + [messageID])
        return true
    }
}
