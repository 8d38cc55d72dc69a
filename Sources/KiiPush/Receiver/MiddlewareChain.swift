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
    public static func buildExpression(_ stage: any Middleware) -> [any Middleware] { [stage] }
    /// Middlewares in sequence.
    public static func buildBlock(_ stages: [any Middleware]...) -> [any Middleware] { stages.flatMap { $0 } }
    /// The middlewares of an `if`.
    public static func buildOptional(_ stages: [any Middleware]?) -> [any Middleware] { stages ?? [] }
    /// The middlewares of an `if` with an `else`.
    public static func buildEither(first stages: [any Middleware]) -> [any Middleware] { stages }
    /// The middlewares of an `else`.
    public static func buildEither(second stages: [any Middleware]) -> [any Middleware] { stages }
    /// The middlewares of a `for`.
    public static func buildArray(_ stages: [[any Middleware]]) -> [any Middleware] { stages.flatMap { $0 } }
}

/// The middlewares of a receiver, in order.
///
/// This is a list, not a nested generic value: a generic chain that is built in another module is compiled there
/// without this module's types, and cost 80 ns more per message than one that is built here.
package struct CompiledChain: Sendable {
    // A list by reference: from an array, each stage would be copied and counted for each message.
    private final class Stage: Sendable {
        private let middleware: any Middleware
        private let name: String
        private let next: Stage?

        init(_ middleware: any Middleware, next: Stage?) {
            self.middleware = middleware
            self.next = next
            name = middleware.name
        }

        /// Asks the middleware, and those after it as long as they let the message pass; tells the recorder of each.
        func admit(_ message: inout RoutedMessage, _ passed: inout Int) throws(StageFailure) -> Verdict {
            do {
                let verdict = try middleware.admit(&message)
                message.recorder?.end(name, .words(verdict.description))
                guard verdict == .pass else { return verdict }
            } catch {
                message.recorder?.end(name, failed: error)
                throw StageFailure(stage: name, underlying: error)
            }
            passed += 1
            return try next?.admit(&message, &passed) ?? .pass
        }

        /// Tells the outcome to so many middlewares from this one on, the last one first.
        func settle(_ message: RoutedMessage, _ outcome: Outcome, _ passed: Int) {
            if passed > 1 { next?.settle(message, outcome, passed - 1) }
            middleware.settle(message, outcome)
        }
    }

    private let first: Stage?
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
        let middleware = middleware.map { stage -> any Middleware in
            if let deduplicator = stage as? Deduplicator { return deduplicator.attached(to: clock) }
            (stage as? LoopGuard)?.clock.attach(clock, to: stage.name)
            return stage
        }
        problems = ChainProblem.problems(of: middleware)
        names = middleware.map(\.name)
        first = middleware.reversed().reduce(nil) { Stage($1, next: $0) }
        loopGuard = middleware.lazy.compactMap { $0 as? LoopGuard }.first
        hasLastingDeduplicator = middleware.contains { ($0 as? Deduplicator)?.isInMemory == false }
    }

    /// Sends a message through the chain, and counts in `passed` the middlewares that admitted it.
    func admit(_ message: inout RoutedMessage, _ passed: inout Int) throws(StageFailure) -> Verdict {
        message.recorder?.begin()
        return try first?.admit(&message, &passed) ?? .pass
    }

    /// Calls each middleware that admitted a message with its outcome, the last one first.
    package func settle(_ message: RoutedMessage, _ outcome: Outcome, _ passed: Int) {
        if passed > 0 { first?.settle(message, outcome, passed) }
    }
}

/// The error of a middleware that could not decide, with its name.
struct StageFailure: Error {
    let stage: String
    let underlying: any Error
}
