// The walk of a message: performs the steps that its `MessageWalk` returns, one after another.

import KiiPush

/// A delivery that has ended for the chain, but is still in the inbox.
struct Ended: Sendable {
    var delivery: Delivery
    let outcome: Outcome
}

extension PushService {
    /// Delivers a message whose turn it is, and then the next ones until none is ready.
    func work(_ first: Delivery) async {
        var (delivery, ended) = (first, Ended?.none)
        while true {
            let ran = delivery
            _ = await walk(delivery, &ended, isBeside: false)
            // A delivery that must run alone does so until its end is recorded.
            if ran.isSuspect { await writeDown(&ended) }
            guard let next = await next(after: ran, &ended) else { return }
            delivery = next
        }
    }

    /// The next delivery; nil if there is none and every end is recorded.
    private func next(after last: Delivery, _ ended: inout Ended?) async -> Delivery? {
        let next: Delivery? = change { state in
            state.leaveOff(last)
            if let next = state.next() { return next }
            if let next = state.next(behind: &ended) { return next }
            // It counts as in flight until its end is recorded.
            if ended != nil { state.inFlight += 1 }
            return nil
        }
        if let next, !next.isSuspect || ended == nil { return next }
        guard ended != nil else { return nil }
        await writeDown(&ended)
        if let next { return next }
        return change { state in
            state.inFlight -= 1
            return state.next()
        }
    }

    /// Walks a delivery for a purpose, beside those whose turn it is; returns its outcome, as `walk` does.
    @discardableResult
    func carryOut(_ purpose: MessageWalk.Purpose, of delivery: Delivery) async -> Outcome? {
        var (delivery, ended) = (delivery, Ended?.none)
        delivery.walk.prepare(for: purpose)
        let outcome = await walk(delivery, &ended, isBeside: true)
        await writeDown(&ended)
        return outcome
    }

    /// Walks a delivery until it ends, waits, or must be retried later.
    ///
    /// - Parameters:
    ///   - given: the delivery; if it waits when this returns, the caller no longer owns it.
    ///   - ended: the previous delivery, whose end must be recorded: together with the beginning of this one, or alone
    ///     before any other step. On return, this delivery if it has ended, for the caller to record.
    ///   - isBeside: whether its handlers run beside the shared places.
    /// - Returns: its outcome or failure; nil if it waits, or the service leaves it.
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
            case .pace(let until, let passed, let isFirst):
                pace(delivery, until, passed, isFirst: isFirst)
                return .paced(until: until)
            case .lookForKills(let amongStopped):
                step = delivery.walk.switchedOff(kills(of: delivery.walk, amongStopped))
            case .begin(let attempt):
                let before = clock.now
                step = delivery.walk.begun(await begin(delivery.ticket, attempt, &ended))
                if !isBeside { place = .shared(delivery.ticket.keys, write: before.duration(to: clock.now)) }
            case .run(let route):
                let timeout = (route.delivery ?? delivery.ticket.settings).timeout
                let outcome = await run(route, of: delivery.walk.message, timeout, place)
                // The process has survived it; a handler that could not begin proves nothing.
                if delivery.isSuspect, !outcome.isShortage { delivery.isSuspect = false }
                step = delivery.walk.ran(route, outcome, isShortage: outcome.isShortage)
            case .deadLetterKilled(let routes):
                step = delivery.walk.deadLetteredKilled(deadLetter(delivery, .killSwitch, routes))
            case .fail(let failure): step = delivery.walk.failed(failure, isRunning: isRunningAfterFailure())
            case .record(let next):
                step = await record(.failed(delivery.ticket.number, handled: delivery.walk.done)) ? next : .leave
            case .deadLetter(let reason): step = deadLetter(&delivery, reason)
            case .follow(let lease):
                follow(&delivery, lease)
                return nil
            case .retry(let failure):
                retry(delivery, failure)
                return .failed(failure)
            case .waitForResources(let failure):
                let pause = DeliverySettings.pause(afterShortages: delivery.walk.shortages, jitter())
                schedule(delivery, at: clock.now.advanced(by: pause))
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
        if delivery.walk.isPaced, receiver.loopGuard?.takesNewest(delivery.walk.message) == true {
            change { delivery.takeNewest(from: &$0.lanes) }
            receiver.refresh(&delivery.walk.message, nil)
        }
        let (judgement, passed) = receiver.admit(&delivery.walk.message, bypass)
        if case .handle = judgement { supersedeReplaced(&delivery) }
        return delivery.walk.judged(judgement, passed, bypass)
    }

    /// The routes that were switched off while a message waited: among those that must still handle it or, with
    /// `amongStopped`, among those that the chain has just stopped, some of which were switched off when it arrived.
    private func kills(of walk: MessageWalk, _ amongStopped: Bool) -> [String] {
        guard let loopGuard = receiver.loopGuard else { return [] }
        guard amongStopped else { return loopGuard.kills(of: walk.message, walk.remaining).routes }
        return loopGuard.kills(of: walk.message, receiver.match(walk.message.message)).routes.filter {
            !walk.killed.routes.containsExactly($0)
        }
    }

    /// Records that handlers are about to run, together with the end of the previous delivery.
    private func begin(_ ticket: Ticket, _ attempt: Int, _ ended: inout Ended?) async -> Bool {
        let begun = InboxRecord.begun(ticket.number, attempt: attempt)
        guard let last = ended.take() else { return await record(begun) }
        let isRecorded = await record(.ended(last.delivery.ticket.number), begun)
        finish(last, isRecorded: isRecorded)
        return isRecorded
    }

    /// Whether the service still runs after a failed attempt; counts an attempt that failed because it was cancelled.
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
        schedule(delivery, at: clock.now.advanced(by: pause))
    }
}

extension Outcome {
    /// Whether a handler failed for lack of a resource.
    fileprivate var isShortage: Bool {
        if case .failed(let failure) = self { failure.error is any ResourceShortage } else { false }
    }
}

extension MessageWalk.Step {
    /// Whether the end of the previous delivery may wait, to be recorded together with the beginning of this one.
    fileprivate var goesBeforeBeginning: Bool {
        switch self {
        case .ask, .lookForKills, .begin: true
        default: false
        }
    }
}
