/// A layer that every message passes before its handlers run, and again after them.
///
/// ``admit(_:)`` decides whether the message continues, and ``settle(_:_:)`` receives its outcome. Reserve in `admit`,
/// and confirm or undo in `settle`, as ``Deduplicator`` does: a message that is confirmed before its handler has
/// succeeded is lost if the handler fails.
///
/// Guarantees to implementers: `admit` is called for each message, and then `settle`, in reverse order of the chain,
/// whatever the outcome; not for a message that this middleware dropped. A message that has to wait is settled as
/// ``Outcome/paced(until:)``, and admitted again later. Both methods are called by many tasks at once, so keep state in
/// a `final class` around one `Mutex`.
public protocol Middleware: Sendable {
    /// The name in traces; by default the name of the type.
    var name: String { get }

    /// Decides whether a message continues.
    ///
    /// - Parameter message: the message and the routes that match it; a middleware may stop single routes.
    /// - Returns: ``Verdict/pass``, a drop with its reason, or a time at which the message is judged again.
    /// - Throws: if the middleware cannot decide. The outcome is then ``Outcome/failed(_:)``, and the transport is
    ///   asked to retry later.
    func admit(_ message: inout RoutedMessage) throws -> Verdict

    /// Called with the outcome of every message that this middleware admitted.
    func settle(_ message: RoutedMessage, _ outcome: Outcome)
}

extension Middleware {
    /// The type's name.
    public var name: String { String(describing: Self.self) }

    /// Does nothing, for a middleware without state.
    public func settle(_ message: RoutedMessage, _ outcome: Outcome) {}
}
