/// How a message ended.
///
/// Every message ends in exactly one outcome. Only ``paced(until:)`` is not final: the message is delivered again.
@nonexhaustive
public enum Outcome: Sendable {
    /// All handlers of its routes succeeded.
    case handled(MatchedRoutes)
    /// The same message was handled before, or is being handled.
    case duplicate(Duplicate)
    /// The loop guard dropped it.
    case looped(LoopLayer)
    /// It must wait: more of its kind came than are handled at once.
    ///
    /// Its transport should deliver it again at this time, with ``RawPayload/isRedelivered``, so that it is not counted
    /// as another message. A `PushService` does that itself.
    case paced(until: MonotonicInstant)
    /// It was dead-lettered, and can be inspected and replayed.
    case deadLettered(DeadLetter.Reason)
    /// The process ended four times while it handled the message, the last time alone; the message is dead-lettered.
    case quarantined
    /// A newer change of the same object replaced it before it was handled.
    case superseded
    /// It was older than its routes allow when their handlers would have started; see ``DeliverySettings/maxAge``.
    case expired
    /// It is not for this receiver.
    case refused(Refusal)
    /// No route matches it.
    case unrouted(Unrouted)
    /// A handler failed, or a middleware could not decide.
    case failed(Failure)
    /// It is not a push message.
    case undecodable(DecodeError)

    /// What happened to the first message of a duplicate.
    public enum Duplicate: Sendable, Hashable {
        /// It was handled.
        case done
        /// It is being handled; whether the transport should deliver the duplicate again.
        case inFlight(Disposition)
    }

    /// Why no route matched a message.
    @nonexhaustive
    public enum Unrouted: String, Sendable, Hashable {
        /// No route matches such a message.
        case noRoute
        /// A route matches, but does not accept ambiguous messages.
        case ambiguous
    }

    /// What failed.
    public struct Failure: Sendable {
        /// The route whose handler failed, or the name of the middleware that could not decide.
        public let place: String
        /// Whether a middleware failed, and no handler ran.
        public let isMiddleware: Bool
        /// The error that was thrown; of several handlers, the first that is no ``ResourceShortage``, else the first.
        public let error: any Error
        /// The routes whose handlers succeeded.
        ///
        /// They do not run again when the transport delivers the message again; see ``Deduplicator``.
        public let handled: MatchedRoutes
    }
}

extension Outcome: Equatable {
    /// Whether two outcomes are equal: the same reason, and the same routes by their ids.
    ///
    /// Two failures are equal if their places, the routes that handled the message, and the types of their errors are.
    public static func == (left: Outcome, right: Outcome) -> Bool {
        switch (left, right) {
        case (.handled(let left), .handled(let right)): left.ids == right.ids
        case (.failed(let left), .failed(let right)):
            left.place == right.place && left.isMiddleware == right.isMiddleware
                && left.handled.ids == right.handled.ids
                && type(of: left.error) == type(of: right.error)
        case (.duplicate(let left), .duplicate(let right)): left == right
        case (.undecodable(let left), .undecodable(let right)): left == right
        default: left.name == right.name && left.reason == right.reason
        }
    }
}

extension Outcome {
    /// The outcome's name, as the tool and the metrics write it.
    public var name: String {
        switch self {
        case .handled: "handled"
        case .duplicate: "duplicate"
        case .looped: "looped"
        case .paced: "paced"
        case .deadLettered: "deadLettered"
        case .quarantined: "quarantined"
        case .superseded: "superseded"
        case .expired: "expired"
        case .refused: "refused"
        case .unrouted: "unrouted"
        case .failed: "failed"
        case .undecodable: "undecodable"
        }
    }

    /// The reason: a layer, a refusal, a code; nil if the name says it all.
    public var reason: String? {
        switch self {
        case .handled, .quarantined, .superseded, .expired, .paced: nil
        case .duplicate(.done): "done"
        case .duplicate(.inFlight): "inFlight"
        case .looped(let layer): layer.rawValue
        case .deadLettered(let reason): reason.rawValue
        case .refused(let refusal): refusal.reason
        case .unrouted(let why): why.rawValue
        case .failed(let failure): failure.place
        case .undecodable(let error): error.code.rawValue
        }
    }

    /// What the transport should do with the message.
    public var disposition: Disposition {
        switch self {
        case .handled, .duplicate(.done), .looped, .deadLettered, .quarantined, .superseded, .expired, .refused,
            .unrouted:
            .accept
        case .duplicate(.inFlight(let disposition)): disposition
        case .failed, .paced: .retryLater
        case .undecodable: .reject
        }
    }

    /// Whether it is not final.
    var isPaced: Bool { if case .paced = self { true } else { false } }

    /// Whether the deduplication store remembers the message, so that it is a duplicate when it arrives again.
    package var isRemembered: Bool {
        switch self {
        case .handled, .looped, .deadLettered, .quarantined, .superseded, .expired: true
        case .duplicate, .paced, .refused, .unrouted, .failed, .undecodable: false
        }
    }
}

extension Outcome: CustomStringConvertible {
    /// The name, and the reason in brackets.
    public var description: String { reason.map { "\(name) (\($0))" } ?? name }
}
