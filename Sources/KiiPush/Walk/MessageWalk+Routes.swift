// What a walk knows of its routes and its tries.

extension MessageWalk {
    /// How often it was tried: runs of its handlers, and failures of stages.
    package var tries: Int { attempts + stageFailures }

    /// Whether it waits for its first turn.
    package var isUntried: Bool {
        if case .handle = purpose { tries == 0 } else { false }
    }

    /// The breaker that gives it the turn for which it waits.
    package var turn: BreakerID? {
        if case .resume(_, .breaker(let breaker)) = purpose { breaker } else { nil }
    }

    /// The outcome that its transport got, if that was before its held routes had it.
    package var told: Outcome? {
        if case .ended(let outcome) = chain { outcome } else { nil }
    }

    /// The routes that still have to handle it.
    package var remaining: [Route] { message.routes.filter { !hasEnded($0.id) } }

    /// The routes that never get it again, in this process or the next: those that are done with it, and those for
    /// which it was too old when it ended for all that are not held.
    package var done: [String] { ends.filter { $0.end.isDone || hasRemainder && $0.end == .expired }.map(\.route) }

    /// Its routes that are done with it.
    package var succeeded: MatchedRoutes { MatchedRoutes(message.routes.filter { isDone($0.id) }) }

    /// Whether a route is done with it.
    package func isDone(_ route: String) -> Bool { ends.contains { $0.end.isDone && $0.route.isExactly(route) } }

    /// The routes that have not handled it: those that pass, were switched off or are held; if the chain has stopped
    /// all of them, those that `match` returns.
    package func open(_ match: () -> MatchedRoutes) -> [String] {
        let killed = ends.filter { $0.end == .switchedOff }.map(\.route)
        let left = remaining.map(\.id) + killed + message.held.ids
        return left.isEmpty ? match().ids.filter { !isDone($0) } : left
    }

    var hasDone: Bool { ends.contains { $0.end.isDone } }

    func hasEnded(_ route: String) -> Bool { ends.contains { $0.route.isExactly(route) } }
}
