/// A probable mistake in a receiver's chain; see ``PushReceiver/chainProblems``.
@nonexhaustive
public enum ChainProblem: Sendable, Hashable, CustomStringConvertible {
    /// ``LoopGuard`` comes before ``Deduplicator``, so each repeated delivery counts as one more message of a loop.
    case guardBeforeDeduplicator
    /// ``ScopeFilter`` comes before ``Deduplicator``, so it refuses each repetition of a message again.
    case scopeFilterBeforeDeduplicator
    /// ``ScopeFilter`` comes before ``LoopGuard``, so the kill switch does not see the messages that it refuses.
    case scopeFilterBeforeGuard
    /// There are two ``ScopeFilter``s, so only scopes that both serve pass.
    case twoScopeFilters

    /// The problem and its remedy, in words.
    public var description: String {
        switch self {
        case .guardBeforeDeduplicator:
            "LoopGuard comes before Deduplicator: each repeated delivery counts as one more message of a loop; "
                + "put Deduplicator first"
        case .scopeFilterBeforeDeduplicator:
            "ScopeFilter comes before Deduplicator: put Deduplicator first, and ScopeFilter last"
        case .scopeFilterBeforeGuard: "ScopeFilter comes before LoopGuard: put ScopeFilter last"
        case .twoScopeFilters:
            "there are two ScopeFilters: only scopes that both serve pass; keep one, with all scopes that are served"
        }
    }
}

extension ChainProblem {
    static func problems(of chain: [any Middleware]) -> [ChainProblem] {
        let deduplicator = chain.firstIndex { $0 is Deduplicator }
        let loopGuard = chain.firstIndex { $0 is LoopGuard }
        let filters = chain.indices.filter { chain[$0] is ScopeFilter }
        var problems: [ChainProblem] = []
        if let loopGuard, let deduplicator, loopGuard < deduplicator { problems.append(.guardBeforeDeduplicator) }
        if let filter = filters.first {
            if let deduplicator, filter < deduplicator { problems.append(.scopeFilterBeforeDeduplicator) }
            if let loopGuard, filter < loopGuard { problems.append(.scopeFilterBeforeGuard) }
        }
        if filters.count > 1 { problems.append(.twoScopeFilters) }
        return problems
    }

    /// Ends the program for a chain that can never work.
    static func refuseRepeated(_ chain: [any Middleware]) {
        precondition(
            chain.count { $0 is Deduplicator } <= 1,
            "a chain has one Deduplicator: a second one would leave the first one's messages in flight for ever")
        precondition(
            chain.count { $0 is LoopGuard } <= 1,
            "a chain has one LoopGuard: a service and the handlers' writes know only the first")
    }
}
