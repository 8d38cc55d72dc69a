// The vocabulary of a walk: its next step, why it was started, and the answers that it gets.

extension MessageWalk {
    /// The next step of a walk.
    package enum Step: Sendable {
        /// Ask the chain, once the routes are up to date: ``judged(_:_:_:)``.
        case ask(AdmissionBypass)
        /// Undo what the stages that passed the message did, because another stage failed: ``failed(_:)``.
        case undo(Outcome.Failure, passed: Int)
        /// Undo what the stages that passed the message did, and ask the chain again at this time.
        case pace(until: MonotonicInstant, passed: Int, isFirst: Bool)
        /// Find the routes that were switched off while the message waited, or among those that the chain has just
        /// stopped: ``switchedOff(_:)``.
        case lookForKills(amongStopped: Bool)
        /// Record that an attempt begins: ``begun(_:)``.
        case begin(attempt: Int)
        /// Run the handler of a route: ``ran(_:_:isShortage:)``.
        case run(Route)
        /// Dead-letter the message for the routes that were switched off; it continues: ``deadLetteredKilled(_:)``.
        case deadLetterKilled([String])
        /// Decide what follows a failed attempt: ``failed(_:isRunning:)``, or ``failedForGood(_:)`` without retries.
        case fail(Outcome.Failure)
        /// Record that the attempt is over, and which routes are done; then take another step.
        indirect case record(then: Step)
        /// Dead-letter the message for all routes that have not handled it: ``deadLettered(_:_:_:isDurable:)``.
        case deadLetter(DeadLetter.Reason)
        /// Wait for the end of the message that this one repeats.
        case follow(SeenLease)
        /// Try it again after a pause.
        case retry(Outcome.Failure)
        /// Try it again when the machine may have what it lacked.
        case waitForResources(Outcome.Failure)
        /// Leave it in the inbox until the dead-letter store has capacity.
        case putOff(DeadLetter.Reason, Outcome)
        /// End it: for the chain, in the inbox, for its transport.
        case end(Outcome)
        /// Leave it, because the service stops.
        case leave
    }

    /// Why a walk starts; indirect, since most start for the first of these.
    package indirect enum Purpose: Sendable {
        /// It is the message's turn.
        case handle
        /// The process ended too often while it handled the message.
        case quarantine
        /// A newer change has replaced the message.
        case supersede
        case end(Outcome)
        case deadLetter(DeadLetter.Reason)
    }

    /// What the chain decides about a message.
    package enum Judgement: Sendable {
        case handle
        /// Share the outcome of the message that this one repeats.
        case wait(SeenLease)
        /// Ask the chain again at this time.
        case later(MonotonicInstant)
        case end(Outcome)
    }

    /// What went wrong in an attempt: its first failure, or else its first shortage.
    enum Trouble: Sendable {
        indirect case failure(Outcome.Failure)
        indirect case shortage(Outcome.Failure)
    }

    /// How a route has ended for the message.
    enum RouteEnd: Sendable, Hashable {
        case handled
        case looped(LoopLayer)
        /// The message was too old when the handler would have started.
        case expired
        /// The route was switched off while the message waited, which must be dead-lettered for it.
        case switchedOff
        case deadLettered

        /// Whether the route never gets the message again: its handler succeeded or ended a loop, or the message was
        /// dead-lettered for it.
        var isDone: Bool {
            switch self {
            case .handled, .looped, .deadLettered: true
            case .expired, .switchedOff: false
            }
        }
    }
}
