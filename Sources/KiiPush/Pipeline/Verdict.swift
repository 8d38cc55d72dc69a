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
