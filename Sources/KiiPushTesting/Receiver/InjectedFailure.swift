public import KiiPush
import KiiPushRules

/// The handlers that a test makes fail: `["reload"]`, `.all` or `.none`.
public struct FailingHandlers: Sendable, Hashable, ExpressibleByArrayLiteral {
    let names: FailingStandIns

    private init(_ names: FailingStandIns) { self.names = names }

    /// Handlers with these names, which are the names in rules, or else the route's ids.
    public init(_ names: [String]) { self.init(.named(names)) }

    /// Handlers with these names.
    public init(arrayLiteral names: String...) { self.init(names) }

    /// Every handler.
    public static let all = FailingHandlers(.all)

    /// No handler.
    public static let none = FailingHandlers([])
}

/// A handler failed because a test asked for it.
public struct InjectedFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The handler's name in rules, or else its route's id.
    public let handler: String

    /// The failure in words.
    public var description: String { "the test told '\(handler)' to fail" }

    /// Throws if the test that sent the message makes this handler fail; does nothing outside a ``TestReceiver``.
    ///
    /// For your own handlers: call it where the handler could fail, with its context. Stand-in handlers that a
    /// ``TestReceiver`` makes from rules do so by themselves.
    ///
    /// ```swift
    /// receiver.onPushToApp("settings", bucket: "settings") { event, context in
    ///     try InjectedFailure.point(context)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - context: the handler's context.
    ///   - name: the handler's name; by default its route's id.
    /// - Throws: ``InjectedFailure``.
    public static func point(_ context: HandlerContext, name: String? = nil) throws {
        try HarnessWork.failurePoint(context.messageID, name ?? context.route)
    }
}
