public import KiiPush

/// Does what rules ask for that name no handler: running programs, and printing.
///
/// The core does neither, since both reach out of the process. Whoever loads rules with `run` or `print` brings one.
public protocol RuleActions: Sendable {
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
