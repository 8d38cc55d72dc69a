/// How a message ended.
///
/// Every message ends in exactly one; ``held(_:)`` alone is no end, and another one follows it.
@nonexhaustive
public enum Outcome: Sendable {
    /// All handlers of its routes succeeded.
    case handled(MatchedRoutes)
    /// The same message was handled before, or is being handled.
    case duplicate(Duplicate)
    /// The loop guard stopped it.
    case looped(LoopLayer)
    /// The loop guard holds it: not its end yet, which is reported when it comes.
    case held(HeldMessage)
    /// It was put aside, where it can be looked at and replayed.
    case deadLettered(DeadLetter.Reason)
    /// It was being handled when the process ended, four times, and alone from the second time on; it is a dead letter.
    case quarantined
    /// A newer change of the same object took its place before its turn came, as its route asked for.
    case superseded
    /// It was older than its routes allow when their handlers would have started; see ``DeliverySettings/maxAge``.
    case expired
    /// It is not for this receiver.
    case refused(Refusal)
    /// No route takes it.
    case unrouted(Unrouted)
    /// A handler failed, or a stage could not decide.
    case failed(Failure)
    /// It is no push message.
    case undecodable(DecodeError)

    /// What became of the first message of a duplicate.
    public enum Duplicate: Sendable, Hashable {
        /// It was handled.
        case done
        /// It was being handled, and ended with this disposition, which the duplicate shares.
        case inFlight(Disposition)
    }

    /// Why no route took a message.
    public enum Unrouted: String, Sendable, Hashable {
        /// None asks for such a message.
        case noRoute
        /// One does, but takes no ambiguous messages.
        case ambiguous
    }

    /// What failed.
    public struct Failure: Sendable {
        /// The route whose handler failed, or the name of the stage that could not decide.
        public let place: String
        /// Whether it was a stage of the chain, and no handler ran.
        public let isStage: Bool
        /// What was thrown; of several handlers', the first.
        public let error: any Error
        /// The routes whose handlers succeeded all the same.
        ///
        /// They do not run again when the transport delivers the message again: see ``Deduplicator``.
        public let handled: MatchedRoutes

        package init(place: String, isStage: Bool, error: any Error, handled: MatchedRoutes) {
            self.place = place
            self.isStage = isStage
            self.error = error
            self.handled = handled
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
        case .held: "held"
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

    /// More exactly why: a layer, a refusal, a code; nil where the name says it all.
    public var reason: String? {
        switch self {
        case .handled, .quarantined, .superseded, .expired: nil
        case .duplicate(.done): "done"
        case .duplicate(.inFlight): "inFlight"
        case .looped(let layer): layer.rawValue
        case .held: LoopLayer.rate.rawValue
        case .deadLettered(let reason): reason.rawValue
        case .refused(let refusal): refusal.reason
        case .unrouted(let why): why.rawValue
        case .failed(let failure): failure.place
        case .undecodable(let error): error.code.rawValue
        }
    }

    /// What the transport is told.
    ///
    /// Of a message that is held it is ``Disposition/retryLater``: it lies in memory only. A transport that can wait
    /// does better to wait for ``HeldMessage/end()`` and take the disposition of that.
    public var disposition: Disposition {
        switch self {
        case .handled, .duplicate(.done), .looped, .deadLettered, .quarantined, .superseded, .expired, .refused,
            .unrouted:
            .accept
        case .duplicate(.inFlight(let disposition)): disposition
        case .failed, .held: .retryLater
        case .undecodable: .reject
        }
    }

    /// Whether the seen store remembers the message, so that it is a duplicate when it comes again.
    package var isRemembered: Bool {
        switch self {
        case .handled, .looped, .deadLettered, .quarantined, .superseded, .expired: true
        case .duplicate, .held, .refused, .unrouted, .failed, .undecodable: false
        }
    }
}

extension Outcome: CustomStringConvertible {
    /// The name, and the reason in brackets.
    public var description: String { reason.map { "\(name) (\($0))" } ?? name }
}
