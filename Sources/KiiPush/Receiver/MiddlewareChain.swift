/// Puts middleware into a chain, in the order written; `if`, `else`, `switch` and `for` say which.
///
/// ```swift
/// PushReceiver(app: "0123abcd") {
///     Deduplicator()
///     LoopGuard(me: [.thing(id: "th.1")])
///     if quietAtNight { QuietHours() }
///     ScopeFilter(serving: [.app, .thing("th.1")])
/// }
/// ```
@resultBuilder
public enum MiddlewareBuilder {
    /// A stage.
    public static func buildExpression(_ stage: any Middleware) -> [any Middleware] { [stage] }
    /// Stages one behind the other.
    public static func buildBlock(_ stages: [any Middleware]...) -> [any Middleware] { stages.flatMap { $0 } }
    /// The stages behind an `if`.
    public static func buildOptional(_ stages: [any Middleware]?) -> [any Middleware] { stages ?? [] }
    /// The stages of an `if` with an `else`.
    public static func buildEither(first stages: [any Middleware]) -> [any Middleware] { stages }
    /// The stages of an `else`.
    public static func buildEither(second stages: [any Middleware]) -> [any Middleware] { stages }
    /// The stages of a `for`.
    public static func buildArray(_ stages: [[any Middleware]]) -> [any Middleware] { stages.flatMap { $0 } }
}

/// A chain of middleware as a receiver holds it: its stages, one behind the other.
///
/// A list and no nested generic value: one that is built in another module is compiled there without the types of ours,
/// and a message took 80 ns more for the chain of a user than for the one that is built here.
package struct CompiledChain: Sendable {
    fileprivate struct Stage {
        let middleware: any Middleware
        let name: String
    }

    private let stages: [Stage]
    /// The stages as one step, where they are the built-in ones.
    let lane: StandardLane?
    /// What is wrong with the order of the stages.
    let problems: [ChainProblem]
    /// The loop guard, which holds messages and takes announcements.
    let loopGuard: LoopGuard?

    /// Compiles a chain whose stages take this clock.
    init(_ middleware: [any Middleware], clock: any ReceiverClock) {
        ChainProblem.refuseRepeated(middleware)
        let middleware = middleware.map { ($0 as? any ClockedMiddleware)?.attached(to: clock) ?? $0 }
        problems = ChainProblem.problems(of: middleware)
        stages = middleware.map { Stage(middleware: $0, name: $0.name) }
        lane = StandardLane(middleware)
        loopGuard = middleware.lazy.compactMap { $0 as? LoopGuard }.first
    }

    /// The names of the stages, first to last.
    var names: [String] { stages.map(\.name) }

    /// Passes a message on, counting in `passed` the stages that let it go.
    // Never inlined: where it is, each stage is copied first.
    @inline(never)
    func admit(_ message: inout RoutedMessage, _ passed: inout Int) throws -> Verdict {
        while passed < stages.count {
            let verdict = try stages[passed].admit(&message)
            guard verdict == .pass else { return verdict }
            passed += 1
        }
        return .pass
    }

    /// Notifies each stage that must learn how a message ended, the last one first.
    // Never inlined: in an asynchronous caller each stage would be copied first.
    @inline(never)
    package func settle(_ message: RoutedMessage, _ outcome: Outcome, _ progress: ChainProgress) {
        switch progress {
        case .unasked: break
        case .passed(var index):
            while index > 0 {
                index -= 1
                stages[index].settle(message, outcome)
            }
        // The others have settled it; the loop guard has counted it again for its held routes.
        case .ended: loopGuard?.settle(message, outcome)
        }
    }

    /// Tells the first `passed` stages that a message is held, the last one first.
    func hold(_ message: RoutedMessage, _ passed: Int) {
        for index in (0..<passed).reversed() { stages[index].hold(message) }
    }
}

// Methods of the stage, since they borrow what a loop over the stages would copy.
extension CompiledChain.Stage {
    /// Asks the stage; times it while someone listens.
    fileprivate func admit(_ message: inout RoutedMessage) throws -> Verdict {
        do {
            message.recorder?.begin()
            let verdict = try middleware.admit(&message)
            message.recorder?.end(name, verdict)
            return verdict
        } catch {
            message.recorder?.end(name, failed: error)
            throw StageFailure(stage: name, underlying: error)
        }
    }

    fileprivate func settle(_ message: RoutedMessage, _ outcome: Outcome) { middleware.settle(message, outcome) }

    fileprivate func hold(_ message: RoutedMessage) { middleware.hold(message) }
}

/// A stage that could not decide, with its name.
struct StageFailure: Error {
    let stage: String
    let underlying: any Error
}
