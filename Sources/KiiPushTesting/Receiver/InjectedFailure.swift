public import KiiPush
import KiiPushRules

/// The handlers that a test lets fail: `["reload"]`, `.all` or `.none`.
public struct FailingHandlers: Sendable, Hashable, ExpressibleByArrayLiteral {
    let names: FailingStandIns

    private init(_ names: FailingStandIns) { self.names = names }

    /// Those of these names: what rules call a handler by, else the id of its route.
    public init(_ names: [String]) { self.init(.named(names)) }

    /// Those of these names.
    public init(arrayLiteral names: String...) { self.init(names) }

    /// Every handler.
    public static let all = FailingHandlers(.all)

    /// No handler.
    public static let none = FailingHandlers([])
}

/// A handler failed since a test told it to.
public struct InjectedFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The handler, by the name that rules call it by, else by its route's id.
    public let handler: String

    /// The failure in words.
    public var description: String { "the test told '\(handler)' to fail" }

    /// Fails if the test that sent the message told the handler to; does nothing outside of a ``TestReceiver``.
    ///
    /// For handlers of your own: call it where the handler could fail, with its context. Handlers that a
    /// ``TestReceiver`` makes of rules do so by themselves.
    ///
    /// ```swift
    /// receiver.onPushToApp("settings", bucket: "settings") { event, context in
    ///     try InjectedFailure.point(context)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - context: what the handler was told.
    ///   - name: the handler's name; its route's id when it is left out.
    /// - Throws: ``InjectedFailure``.
    public static func point(_ context: HandlerContext, name: String? = nil) throws {
        try HarnessWork.failurePoint(context.messageID, name ?? context.route)
    }
}
