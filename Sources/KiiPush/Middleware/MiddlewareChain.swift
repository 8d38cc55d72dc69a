/// A chain of middleware as one nested value, so that a message goes through it by direct calls.
///
/// Made by ``MiddlewareBuilder``; there is nothing to conform to it for.
@_documentation(visibility: internal)
public protocol MiddlewareChain: Sendable {
    /// Passes a message on, counting in `passed` the stages that let it go.
    func admit(_ message: inout RoutedMessage, passed: inout Int) throws -> Verdict
    /// Tells the first `passed` stages how a message ended, the last one first.
    func settle(_ message: RoutedMessage, _ outcome: Outcome, passed: Int)
    /// Tells the first `passed` stages that a message is held.
    func hold(_ message: RoutedMessage, passed: Int)
    /// How many stages there are.
    var count: Int { get }
    /// The stages, first to last.
    var stages: [any Middleware] { get }
}

extension MiddlewareChain {
    /// The names of the stages, first to last.
    var names: [String] { stages.map(\.name) }
}

/// Puts middleware into a chain, in the order written; `if`, `else` and `switch` may hold different types.
///
/// ```swift
/// PushReceiver(app: "0123abcd") {
///     Deduplicator()
///     LoopGuard(me: [.thing(id: "th.1")])
///     if quietAtNight { QuietHours() }
///     ScopeRouter(serving: [.app, .thing("th.1")])
/// }
/// ```
@resultBuilder
public enum MiddlewareBuilder {
    /// A chain of no stages.
    public static func buildBlock() -> EmptyChain { EmptyChain() }
    /// A stage.
    public static func buildExpression<Stage: Middleware>(_ stage: Stage) -> ChainStage<Stage> { ChainStage(stage) }
    /// The first stage.
    public static func buildPartialBlock<First: MiddlewareChain>(first: First) -> First { first }
    /// The stages so far, and one more.
    public static func buildPartialBlock<First: MiddlewareChain, Next: MiddlewareChain>(
        accumulated: First, next: Next
    ) -> ChainPair<First, Next> { ChainPair(first: accumulated, second: next) }
    /// A stage behind an `if`.
    public static func buildOptional<Wrapped: MiddlewareChain>(_ chain: Wrapped?) -> OptionalChain<Wrapped> {
        OptionalChain(wrapped: chain)
    }
    /// The stages of an `if` with an `else`.
    public static func buildEither<First: MiddlewareChain, Second: MiddlewareChain>(
        first: First
    ) -> EitherChain<First, Second> { .first(first) }
    /// The stages of an `else`.
    public static func buildEither<First: MiddlewareChain, Second: MiddlewareChain>(
        second: Second
    ) -> EitherChain<First, Second> { .second(second) }
}

/// A chain of no stages.
@_documentation(visibility: internal)
public struct EmptyChain: MiddlewareChain {
    /// Passes.
    public func admit(_ message: inout RoutedMessage, passed: inout Int) throws -> Verdict { .pass }
    /// Does nothing.
    public func settle(_ message: RoutedMessage, _ outcome: Outcome, passed: Int) {}
    /// Does nothing.
    public func hold(_ message: RoutedMessage, passed: Int) {}
    /// None.
    public var count: Int { 0 }
    /// None.
    public var stages: [any Middleware] { [] }
}

/// One stage of a chain; times it while someone listens.
@_documentation(visibility: internal)
public struct ChainStage<Stage: Middleware>: MiddlewareChain {
    let stage: Stage
    private let name: String

    init(_ stage: Stage) {
        self.stage = stage
        name = stage.name
    }

    /// Asks the stage.
    public func admit(_ message: inout RoutedMessage, passed: inout Int) throws -> Verdict {
        do {
            message.recorder?.begin()
            let verdict = try stage.admit(&message)
            message.recorder?.end(name, verdict)
            if verdict == .pass { passed += 1 }
            return verdict
        } catch {
            message.recorder?.end(name, failed: error)
            throw StageFailure(stage: name, underlying: error)
        }
    }

    /// Tells the stage, if it passed the message.
    public func settle(_ message: RoutedMessage, _ outcome: Outcome, passed: Int) {
        if passed > 0 { stage.settle(message, outcome) }
    }

    /// Tells the stage, if it passed the message.
    public func hold(_ message: RoutedMessage, passed: Int) {
        if passed > 0 { stage.hold(message) }
    }

    /// One.
    public var count: Int { 1 }
    /// The stage.
    public var stages: [any Middleware] { [stage] }
}

/// Two chains, one behind the other.
@_documentation(visibility: internal)
public struct ChainPair<First: MiddlewareChain, Second: MiddlewareChain>: MiddlewareChain {
    let first: First
    let second: Second

    /// Asks the first, then the second.
    public func admit(_ message: inout RoutedMessage, passed: inout Int) throws -> Verdict {
        let verdict = try first.admit(&message, passed: &passed)
        return verdict == .pass ? try second.admit(&message, passed: &passed) : verdict
    }

    /// Tells the second, then the first.
    public func settle(_ message: RoutedMessage, _ outcome: Outcome, passed: Int) {
        let before = first.count
        if passed > before { second.settle(message, outcome, passed: passed - before) }
        first.settle(message, outcome, passed: min(passed, before))
    }

    /// Tells the second, then the first.
    public func hold(_ message: RoutedMessage, passed: Int) {
        let before = first.count
        if passed > before { second.hold(message, passed: passed - before) }
        first.hold(message, passed: min(passed, before))
    }

    /// Those of both.
    public var count: Int { first.count + second.count }
    /// Those of both.
    public var stages: [any Middleware] { first.stages + second.stages }
}

/// A chain that may be missing.
@_documentation(visibility: internal)
public struct OptionalChain<Wrapped: MiddlewareChain>: MiddlewareChain {
    let wrapped: Wrapped?

    /// Asks it if it is there.
    public func admit(_ message: inout RoutedMessage, passed: inout Int) throws -> Verdict {
        try wrapped?.admit(&message, passed: &passed) ?? .pass
    }

    /// Tells it if it is there.
    public func settle(_ message: RoutedMessage, _ outcome: Outcome, passed: Int) {
        wrapped?.settle(message, outcome, passed: passed)
    }

    /// Tells it if it is there.
    public func hold(_ message: RoutedMessage, passed: Int) { wrapped?.hold(message, passed: passed) }

    /// Its own, or none.
    public var count: Int { wrapped?.count ?? 0 }
    /// Its own, or none.
    public var stages: [any Middleware] { wrapped?.stages ?? [] }
}

/// One of two chains of different types.
@_documentation(visibility: internal)
public enum EitherChain<First: MiddlewareChain, Second: MiddlewareChain>: MiddlewareChain {
    /// The one behind the `if`.
    case first(First)
    /// The one behind the `else`.
    case second(Second)

    /// Asks the one that is there.
    public func admit(_ message: inout RoutedMessage, passed: inout Int) throws -> Verdict {
        switch self {
        case .first(let chain): try chain.admit(&message, passed: &passed)
        case .second(let chain): try chain.admit(&message, passed: &passed)
        }
    }

    /// Tells the one that is there.
    public func settle(_ message: RoutedMessage, _ outcome: Outcome, passed: Int) {
        switch self {
        case .first(let chain): chain.settle(message, outcome, passed: passed)
        case .second(let chain): chain.settle(message, outcome, passed: passed)
        }
    }

    /// Tells the one that is there.
    public func hold(_ message: RoutedMessage, passed: Int) {
        switch self {
        case .first(let chain): chain.hold(message, passed: passed)
        case .second(let chain): chain.hold(message, passed: passed)
        }
    }

    /// Those of the one that is there.
    public var count: Int {
        switch self {
        case .first(let chain): chain.count
        case .second(let chain): chain.count
        }
    }

    /// Those of the one that is there.
    public var stages: [any Middleware] {
        switch self {
        case .first(let chain): chain.stages
        case .second(let chain): chain.stages
        }
    }
}

/// A chain of any type, as the receiver holds it.
///
/// Functions instead of one `any MiddlewareChain`: where the chain's type is known they are compiled for it, and a
/// message goes through three stages in 20 ns instead of 130.
struct CompiledChain: Sendable {
    let admit: @Sendable (inout RoutedMessage, _ passed: inout Int) throws -> Verdict
    let settle: @Sendable (RoutedMessage, Outcome, _ passed: Int) -> Void
    let hold: @Sendable (RoutedMessage, _ passed: Int) -> Void
    let names: [String]
    /// The first loop guard, which holds messages and takes announcements.
    let loopGuard: LoopGuard?

    init(_ chain: some MiddlewareChain) {
        admit = { try chain.admit(&$0, passed: &$1) }
        settle = { chain.settle($0, $1, passed: $2) }
        hold = { chain.hold($0, passed: $1) }
        names = chain.names
        loopGuard = chain.stages.lazy.compactMap { $0 as? LoopGuard }.first
    }
}

/// A stage that could not decide, with its name.
struct StageFailure: Error {
    let stage: String
    let underlying: any Error
}
