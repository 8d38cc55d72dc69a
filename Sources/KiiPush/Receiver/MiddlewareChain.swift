/// Builds a chain of middlewares in the order written; `if`, `else`, `switch` and `for` choose among them.
///
/// ```swift
/// PushReceiver(app: "0123abcd") {
///     Deduplicator()
///     LoopGuard(me: [.thing(id: "th.1")])
///     if quietAtNight { QuietHours() }
///     ScopeFilter(serving: [.app, .thing("th.1")])
/// }
/// ```
@resultBuilder public enum MiddlewareBuilder {
    /// A middleware.
    public static func buildExpression(_ middleware: any Middleware) -> [any Middleware] { [middleware] }
    /// Middlewares in sequence.
    public static func buildBlock(_ middlewares: [any Middleware]...) -> [any Middleware] { middlewares.flatMap { $0 } }
    /// The middlewares of an `if`.
    public static func buildOptional(_ middlewares: [any Middleware]?) -> [any Middleware] { middlewares ?? [] }
    /// The middlewares of an `if` with an `else`.
    public static func buildEither(first middlewares: [any Middleware]) -> [any Middleware] { middlewares }
    /// The middlewares of an `else`.
    public static func buildEither(second middlewares: [any Middleware]) -> [any Middleware] { middlewares }
    /// The middlewares of a `for`.
    public static func buildArray(_ middlewares: [[any Middleware]]) -> [any Middleware] { middlewares.flatMap { $0 } }
}

/// The middlewares of a receiver, in order.
///
/// This is a list, not a nested generic value: a generic chain that is built in another module is compiled there
/// without this module's types, and cost 80 ns more per message than one that is built here.
package struct CompiledChain: Sendable {
    // A list by reference: from an array, each middleware would be copied and counted for each message.
    private final class Link: Sendable {
        private let middleware: any Middleware
        private let name: String
        private let next: Link?

        init(_ middleware: any Middleware, next: Link?) {
            self.middleware = middleware
            self.next = next
            name = middleware.name
        }

        /// Asks the middleware, and those after it as long as they let the message pass; tells the recorder of each.
        func admit(_ message: inout RoutedMessage, _ passed: inout Int) -> Outcome? {
            do {
                let verdict = try middleware.admit(&message)
                message.recorder?.end(.middleware(passed), verdict.isPass ? nil : "\(verdict)")
                switch verdict {
                case .pass: break
                case .drop(let reason): return Outcome(reason)
                case .later(let until): return .paced(until: until)
                }
            } catch {
                message.recorder?.end(.middleware(passed), "threw \(ErrorReport.text(error))")
                return .failure(of: name, isMiddleware: true, error)
            }
            passed += 1
            return next?.admit(&message, &passed)
        }

        /// Tells the outcome to so many middlewares from this one on, the last one first.
        func settle(_ message: RoutedMessage, _ outcome: Outcome, _ passed: Int) {
            if passed > 1 { next?.settle(message, outcome, passed - 1) }
            middleware.settle(message, outcome)
        }
    }

    private let first: Link?
    /// The names of the middlewares, first to last.
    let names: [String]
    /// The problems in the order of the middlewares.
    let problems: [ChainProblem]
    /// The loop guard, which accepts declared writes.
    let loopGuard: LoopGuard?
    /// Whether it remembers messages in a store that may outlive the process.
    package let hasLastingDeduplicator: Bool

    init(_ middleware: [any Middleware], clock: any ReceiverClock) {
        ChainProblem.refuseRepeated(middleware)
        let middleware = middleware.map { one -> any Middleware in
            if let deduplicator = one as? Deduplicator { return deduplicator.attached(to: clock) }
            (one as? LoopGuard)?.clock.attach(clock, to: one.name)
            return one
        }
        problems = ChainProblem.problems(of: middleware)
        names = middleware.map(\.name)
        first = middleware.reversed().reduce(nil) { Link($1, next: $0) }
        loopGuard = middleware.lazy.compactMap { $0 as? LoopGuard }.first
        hasLastingDeduplicator = middleware.contains { ($0 as? Deduplicator)?.isInMemory == false }
    }

    /// Sends a message through the chain, and counts in `passed` who admitted it; returns how it ends or waits, or nil.
    func admit(_ message: inout RoutedMessage, _ passed: inout Int) -> Outcome? {
        first?.admit(&message, &passed)
    }

    /// Calls each middleware that admitted a message with its outcome, the last one first.
    package func settle(_ message: RoutedMessage, _ outcome: Outcome, _ passed: Int) {
        if passed > 0 { first?.settle(message, outcome, passed) }
    }
}

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
