// The walk of a message: takes the steps that its `MessageWalk` names, one after another.

import KiiPush

/// A delivery that has ended, as far as the chain knows, and is in the inbox still.
struct Ended: Sendable {
    var delivery: Delivery
    let outcome: Outcome
}

extension PushService {
    /// Delivers a message whose turn it is, and then others for as long as their turn comes.
    func work(_ first: Delivery) async {
        var (delivery, ended) = (first, Ended?.none)
        while true {
            let (ticket, turn) = (delivery.ticket, delivery.walk.turn)
            _ = await walk(delivery, &ended, isBeside: false)
            if let turn { giveTurns(after: turn) }
            // One that must be alone is, until its end is recorded.
            if ticket.wasInFlightAtCrash { await writeDown(&ended) }
            guard let next = await next(after: ticket, &ended) else { return }
            delivery = next
        }
    }

    /// The delivery that is next; nil when there is none, and no end is left to be recorded.
    private func next(after ticket: Ticket, _ ended: inout Ended?) async -> Delivery? {
        let next: Delivery? = change { state in
            state.leaveOff(ticket)
            if let next = state.next() { return next }
            if let next = state.next(behind: &ended) { return next }
            // It walks until its end is recorded.
            if ended != nil { state.inFlight += 1 }
            return nil
        }
        if let next, !next.ticket.wasInFlightAtCrash || ended == nil { return next }
        guard ended != nil else { return nil }
        await writeDown(&ended)
        if let next { return next }
        return change { state in
            state.inFlight -= 1
            return state.next()
        }
    }

    /// Takes a delivery up for a purpose, beside those whose turn it is; returns how it ended, as the walk does.
    @discardableResult
    func carryOut(_ purpose: MessageWalk.Purpose, of delivery: Delivery) async -> Outcome? {
        var (delivery, ended) = (delivery, Ended?.none)
        delivery.walk.prepare(for: purpose)
        let outcome = await walk(delivery, &ended, isBeside: true)
        await writeDown(&ended)
        return outcome
    }

    /// Walks a delivery as far as it goes now: to its end, to its next attempt, or to where it waits.
    ///
    /// - Parameters:
    ///   - given: the delivery; it is whoever's it waits with when this returns.
    ///   - ended: what has ended before it and is to be recorded: with its beginning, or alone before it does anything
    ///     else. Then the delivery itself, if it has ended, for the caller to record.
    ///   - isBeside: whether its handlers run beside those that have places.
    /// - Returns: how it ended, or what failed; nil where it waits, and where the service leaves it.
    private func walk(_ given: Delivery, _ ended: inout Ended?, isBeside: Bool) async -> Outcome? {
        var (delivery, place) = (given, HandlerRun.Place.beside)
        var step = delivery.walk.start()
        while true {
            if !step.goesBeforeBeginning { await writeDown(&ended) }
            switch step {
            case .ask(let bypass): step = ask(&delivery, bypass)
            case .undo(let failure, let passed):
                receiver.chain.settle(delivery.walk.message, .failed(failure), .passed(passed))
                step = delivery.walk.failed(failure)
            case .resume(let held, let bypass):
                let (message, next) = receiver.resume(held, bypass)
                step = delivery.walk.resumed(next, message, held)
            case .lookForKills(let amongStopped):
                step = delivery.walk.switchedOff(kills(of: delivery.walk, amongStopped))
            case .begin(let attempt):
                let before = clock.now
                step = delivery.walk.begun(await begin(delivery.ticket, attempt, &ended))
                if !isBeside { place = .shared(delivery.ticket.keys, write: before.duration(to: clock.now)) }
            case .run(let route):
                let timeout = (route.delivery ?? delivery.ticket.settings).timeout
                let outcome = await run(route, of: delivery.walk.message, timeout, place)
                step = delivery.walk.ran(route, outcome, isShortage: outcome.isShortage)
            case .deadLetterKilled(let routes):
                step = delivery.walk.deadLetteredKilled(deadLetter(delivery, .killSwitch, routes))
            case .fail(let failure): step = delivery.walk.failed(failure, isRunning: isRunningAfterFailure())
            case .record(let next):
                step = await record(.failed(delivery.ticket.number, handled: delivery.walk.done)) ? next : .leave
            case .deadLetter(let reason): step = deadLetter(&delivery, reason)
            case .hold(let breaker, let passed):
                if hold(&delivery, breaker, passed) { return nil }
                step = delivery.walk.notHeld()
            case .holdAgain(let held, let breaker):
                holdAgain(&delivery, held, breaker)
                return nil
            case .holdRemainder(let outcome):
                guard let end = holdRemainder(&delivery, outcome) else { return outcome }
                step = delivery.walk.notHeld(end, isDurable: isDurable)
            case .follow(let lease):
                follow(&delivery, lease)
                return nil
            case .retry(let failure):
                retry(delivery, failure)
                return .failed(failure)
            case .waitForResources(let failure):
                schedule(delivery, after: DeliverySettings.pause(afterShortages: delivery.walk.shortages, jitter()))
                return .failed(failure)
            case .putOff(let reason, let outcome):
                putOff(&delivery, reason)
                return outcome
            case .end(let outcome):
                putBackReplaced(&delivery)
                receiver.end(delivery.walk.message, outcome, delivery.walk.chain)
                ended = Ended(delivery: delivery, outcome: outcome)
                return outcome
            case .leave:
                leave(delivery)
                return nil
            }
        }
    }

    /// Sends a message through the chain.
    private func ask(_ delivery: inout Delivery, _ bypass: AdmissionBypass) -> MessageWalk.Step {
        receiver.refresh(&delivery.walk.message, delivery.walk.table)
        let (judgement, passed) = receiver.admit(&delivery.walk.message, bypass)
        switch judgement {
        case .handle, .hold: supersedeReplaced(&delivery)
        default: break
        }
        return delivery.walk.judged(judgement, passed, bypass)
    }

    /// The routes that were switched off while a message waited: among those that are to handle it still, or among
    /// those that the chain has stopped just now, of which some were switched off when it came.
    private func kills(of walk: MessageWalk, _ amongStopped: Bool) -> [String] {
        guard let loopGuard = receiver.loopGuard else { return [] }
        guard amongStopped else { return loopGuard.kills(of: walk.message, walk.remaining).routes }
        return loopGuard.kills(of: walk.message, receiver.match(walk.message.message)).routes.filter {
            !walk.killed.routes.containsExactly($0)
        }
    }

    /// Records that handlers are about to run, and with it the end of what was handled before.
    private func begin(_ ticket: Ticket, _ attempt: Int, _ ended: inout Ended?) async -> Bool {
        let begun = InboxRecord.begun(ticket.number, attempt: attempt)
        guard let last = ended.take() else { return await record(begun) }
        let isRecorded = await record(.ended(last.delivery.ticket.number), begun)
        finish(last, isRecorded: isRecorded)
        return isRecorded
    }

    /// Whether the service still runs, now that an attempt has failed; counts those that failed as they were cancelled.
    private func isRunningAfterFailure() -> Bool {
        change { state in
            if state.phase >= .cancelling { state.report.cancelled += 1 }
            return state.isRunning
        }
    }

    private func retry(_ delivery: Delivery, _ failure: Outcome.Failure) {
        let (walk, settings) = (delivery.walk, delivery.ticket.settings)
        let pause = settings.pause(after: walk.tries, jitter())
        tell(
            .retry(
                messageID: walk.message.id, route: failure.place, attempt: walk.tries, pause: pause,
                cause: walk.cause ?? "unknown"))
        schedule(delivery, after: pause)
    }
}

extension Outcome {
    /// Whether a handler failed for lack of a resource.
    fileprivate var isShortage: Bool {
        if case .failed(let failure) = self { failure.error is any ResourceShortage } else { false }
    }
}

extension MessageWalk.Step {
    /// Whether the end of the delivery before is not recorded yet, since the beginning of this one may take it along.
    fileprivate var goesBeforeBeginning: Bool {
        switch self {
        case .ask, .resume, .lookForKills, .begin: true
        default: false
        }
    }
}
