public import KiiPush

/// Performs the actions of rules without a handler: running programs, printing, and calling Kii's cloud.
///
/// The core performs none of them, since they reach outside the process. A program that loads rules with `run`,
/// `print`, `write` or `send` provides one.
public protocol RuleActions: Sendable {
    /// Performs `write` and `send`; nil refuses rules that use them.
    var cloud: (any RuleCloud)? { get }

    /// Runs a program for a message and returns when it has ended.
    ///
    /// - Parameters:
    ///   - arguments: the program and its arguments, at least one; no shell is involved.
    ///   - message: the message.
    ///   - context: the handler's context.
    /// - Throws: if the program did not succeed; the message then failed.
    func run(_ arguments: [String], for message: PushMessage, _ context: HandlerContext) async throws

    /// Prints a message.
    ///
    /// - Throws: if it could not be written; the message then failed.
    func print(_ message: PushMessage, _ context: HandlerContext) async throws
}

extension RuleActions {
    /// None: rules with `write` or `send` are refused.
    public var cloud: (any RuleCloud)? { nil }
}
