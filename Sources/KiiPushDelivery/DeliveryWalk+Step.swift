import KiiPush

// The words of a walk: what is to be done next, what a message is taken up for, and what is known of it.

extension DeliveryWalk {
    /// What to do next.
    enum Step: Sendable {
        /// Ask the chain, once the routes are up to date: ``judged(_:_:_:)``.
        case ask(AdmissionBypass)
        /// Undo what the stages that passed the message did, as another one could not decide: ``failed(_:)``.
        case undo(Outcome.Failure, passed: Int)
        /// Ask whether and how a message that was held goes on: ``resumed(_:_:_:)``.
        case resume(HeldMessage, AdmissionBypass)
        /// Look which of its routes were switched off while it waited, or of those that the chain has stopped just now:
        /// ``switchedOff(_:)``.
        case lookForKills(amongStopped: Bool)
        /// Record that an attempt begins: ``begun(_:)``.
        case begin(attempt: Int)
        /// Run the handler of a route: ``ran(_:_:)``.
        case run(Route)
        /// Dead-letter it for the routes that were switched off, while it goes on: ``deadLetteredKilled(_:)``.
        case deadLetterKilled([String])
        /// See whether the service still runs, now that an attempt has failed: ``failed(_:isRunning:)``.
        case fail(Outcome.Failure)
        /// Record that the attempt is over, and which routes are done; then take another step.
        indirect case record(then: Step)
        /// Dead-letter it for all routes that have not handled it: ``deadLettered(_:_:_:isDurable:)``.
        case deadLetter(DeadLetter.Reason)
        /// Let the loop guard hold the message: ``notHeld()`` where it has no room.
        case hold(BreakerID, passed: Int)
        /// Let the loop guard hold a message once more that it had held.
        case holdAgain(HeldMessage, BreakerID)
        /// Let the loop guard hold what is left, for the routes that are held: ``notHeld(_:isDurable:)`` without room.
        case holdRemainder(Outcome)
        /// Wait for the end of the message that this one repeats.
        case follow(SeenLease)
        /// Try it again after a pause.
        case retry(Outcome.Failure)
        /// Try it again when the machine may have what it lacked.
        case waitForResources(Outcome.Failure)
        /// Leave it in the inbox until the dead letters have room.
        case putOff(DeadLetter.Reason, Outcome)
        /// End it: for the chain, in the inbox, for its transport.
        case end(Outcome)
        /// Leave it, as the service stops.
        case leave
    }

    /// What it is taken up for.
    enum Purpose: Sendable {
        /// Its turn has come.
        case handle
        /// The loop guard or a person lets it go that was held.
        case resume(HeldMessage, AdmissionBypass)
        /// The process ended too often while it handled it.
        case quarantine
        /// A newer change has replaced it.
        case supersede
        case end(Outcome)
        case deadLetter(DeadLetter.Reason)
    }

    /// What the chain knows of it.
    enum Chain: Sendable {
        /// Nothing yet, or it must be asked anew.
        case unasked
        /// So many stages have passed it, and are to be told its end.
        case passed(Int)
        /// This end; what is left of it is for routes that were held.
        case told(Outcome)
    }

    /// How a route has ended for it.
    enum RouteEnd: Sendable, Hashable {
        case handled
        case looped(LoopLayer)
        /// It was too old when the handler would have started.
        case expired
        /// The route was switched off while it waited; it is to be dead-lettered for it.
        case switchedOff
        case deadLettered

        /// Whether the route has had it: its handler has succeeded or ended a loop, or it was dead-lettered for it.
        var isDone: Bool {
            switch self {
            case .handled, .looped, .deadLettered: true
            case .expired, .switchedOff: false
            }
        }
    }
}
