/// A step that every message passes before its handlers run, and again after them.
///
/// ``admit(_:)`` decides whether the message continues, and ``settle(_:_:)`` receives its outcome. Reserve in `admit`,
/// and confirm or undo in `settle`, as ``Deduplicator`` does: a message that is confirmed before its handler has
/// succeeded is lost if the handler fails.
///
/// Guarantees to implementers: `settle` follows each `admit` that returned ``Verdict/pass``, and no other, in reverse
/// order of the chain and whatever the outcome. If a later middleware lets the message wait, it is settled as
/// ``Outcome/paced(until:)`` and admitted again later. Both methods are called by many tasks at once, so keep state in
/// a `final class` around one `Mutex`.
public protocol Middleware: Sendable {
    /// The name in traces; by default the name of the type.
    var name: String { get }

    /// Decides whether a message continues.
    ///
    /// - Parameter message: the message and the routes that match it; a middleware may stop single routes.
    /// - Returns: ``Verdict/pass``, a drop with its reason, or a time at which the message is judged again.
    /// - Throws: if the middleware cannot decide; then the outcome is `failed`, and the transport is to retry later.
    func admit(_ message: inout RoutedMessage) throws -> Verdict

    /// Called with the outcome of every message that this middleware has let pass.
    func settle(_ message: RoutedMessage, _ outcome: Outcome)
}

extension Middleware {
    /// The type's name.
    public var name: String { String(describing: Self.self) }

    /// Does nothing, for a middleware without state.
    public func settle(_ message: RoutedMessage, _ outcome: Outcome) {}
}

/// The decision of a middleware about a message.
@nonexhaustive
public enum Verdict: Sendable, Hashable {
    /// The message continues.
    case pass
    /// The message ends here, for this reason; that is not an error, and the transport acknowledges the message.
    case drop(DropReason)
    /// The message waits, and passes the whole chain again at this time: in a `PushService` in its lane, else its
    /// transport is asked to deliver it again.
    case later(until: MonotonicInstant)

    /// Drops a message that is not for this receiver, for a reason of your own.
    ///
    /// The reason appears in the outcome, in traces and in metrics; keep values of the payload out of it.
    public static func refuse(_ reason: String) -> Verdict { .drop(.refused(.other(reason))) }
}

/// Why a middleware drops a message.
@nonexhaustive
public enum DropReason: Sendable, Hashable {
    /// The same message was handled before.
    case duplicate
    /// The same message is being handled.
    case duplicateInFlight
    /// The message would continue a loop; the layer is the one that detected it.
    case looped(LoopLayer)
    /// A newer change of the same object replaces it.
    case superseded
    /// The message is not for this receiver.
    case refused(Refusal)
}

/// Why a message is not for this receiver.
@nonexhaustive
public enum Refusal: Sendable, Hashable {
    /// It names another app.
    case app
    /// Its scope is incomplete, unknown, or not served.
    case scope
    /// A middleware of your own refuses it.
    case other(String)

    /// The reason as one word, or your own text.
    public var reason: String {
        switch self {
        case .app: "app"
        case .scope: "scope"
        case .other(let reason): reason
        }
    }
}
