/// A stage that every message passes before its handlers run, and again after them.
///
/// A middleware decides; it does not handle. ``admit(_:)`` says whether the message goes on, ``settle(_:_:)`` learns
/// how it ended. Both are synchronous: they run for each message, and the only asynchronous code is the handlers'.
/// Reserve in `admit` and confirm or undo in `settle`, as ``Deduplicator`` does: what is confirmed before the handler
/// has succeeded is lost when it fails.
///
/// Promises to implementers: one `admit` a message; one `settle` for each message that this stage passed, in reverse
/// order of the stages, however the message ended, and none for a message that it dropped itself. A message that the
/// loop guard holds is admitted once and settled once too, in between ``hold(_:)`` tells of it. All are called from many
/// tasks at once, so keep state in a `final class` around one `Mutex`.
public protocol Middleware: Sendable {
    /// The name in traces; the type's, unless you say otherwise.
    var name: String { get }

    /// Decides whether a message goes on.
    ///
    /// - Parameter message: the message and the routes that take it; a stage may stop single routes.
    /// - Returns: ``Verdict/pass``, or a drop with its reason.
    /// - Throws: when the stage cannot decide. The outcome is then ``Outcome/failed(_:)`` and the transport is told to
    ///   retry later.
    func admit(_ message: inout RoutedMessage) throws -> Verdict

    /// Learns how a message ended that this stage passed.
    func settle(_ message: RoutedMessage, _ outcome: Outcome)

    /// Learns that a message which this stage passed is held; how it ends is settled when it does.
    func hold(_ message: RoutedMessage)
}

extension Middleware {
    /// The type's name.
    public var name: String { String(describing: Self.self) }

    /// Does nothing, for a stage that keeps nothing.
    public func settle(_ message: RoutedMessage, _ outcome: Outcome) {}

    /// Does nothing: what was reserved stays reserved.
    public func hold(_ message: RoutedMessage) {}
}
