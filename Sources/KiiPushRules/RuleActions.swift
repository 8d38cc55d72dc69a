public import KiiPush

/// Does what rules ask for that name no handler: running programs, printing, and calling Kii's cloud.
///
/// The core does none of it, since it reaches out of the process. Whoever loads rules with `run`, `print`, `write` or
/// `send` brings one.
public protocol RuleActions: Sendable {
    /// What does `write` and `send`; nil refuses rules that ask for them.
    var cloud: (any RuleCloud)? { get }

    /// Runs a program for a message and returns when it has ended.
    ///
    /// - Parameters:
    ///   - arguments: the program and its arguments, at least one; no shell is meant.
    ///   - message: the message.
    ///   - context: what handlers are told.
    /// - Throws: when the program did not succeed; the message then failed.
    func run(_ arguments: [String], for message: PushMessage, _ context: HandlerContext) async throws

    /// Prints a message.
    ///
    /// - Throws: when it could not be written; the message then failed.
    func print(_ message: PushMessage, _ context: HandlerContext) async throws
}

extension RuleActions {
    /// None: rules with `write` or `send` are refused.
    public var cloud: (any RuleCloud)? { nil }
}
