// The path of a message whose turn it is; read it from top to bottom. It is that of `PushReceiver+Receive.swift`, over
// an inbox: what cannot end yet waits until a time, by `wait(_:until:blocks:)`.

import KiiPush

extension PushService {
    /// Delivers a message whose turn it is, and then the next ones until none is ready.
    func work(_ first: Delivery) async {
        var (current, last) = (first, Delivery?.none)
        while true {
            let ended = await deliver(current, after: last)
            last = nil
            if let ended {
                // A delivery that must run alone does so until its end is recorded.
                if !current.isSuspect, let next = change({ $0.next(inPlaceOf: current) }) {
                    (current, last) = (next, ended)
                    continue
                }
                await recordEnd(of: ended)
            }
            let next = change { state in
                state.leaveOff(current)
                return state.next()
            }
            guard let next else { return }
            current = next
        }
    }

    /// Delivers a message, or a newer one that replaces it, until it ends, waits, or is left; returns what has ended.
    ///
    /// The end of `last`, whose place it has taken, is recorded together with its beginning, so that both cost one
    /// write.
    private func deliver(_ given: Delivery, after last: Delivery?) async -> Delivery? {
        var delivery = given
        let step = step(of: &delivery)
        var records: [InboxRecord] = []
        if let last { records.append(.ended(last.ticket.number)) }
        if case .handle = step { records.append(beginning(of: delivery)) }
        let before = clock.now
        let isRecorded = await record(records)
        if let last { finish(last, isRecorded: isRecorded) }
        guard isRecorded else {
            leave(delivery)
            return nil
        }
        switch step {
        case .handle(let killed): await handle(&delivery, besides: killed, before.duration(to: clock.now))
        case .deadLetter(let reason, let routes): await deadLetter(&delivery, reason, for: routes)
        case .notAdmitted(let outcome): await notAdmitted(&delivery, outcome)
        }
        return delivery.end == nil ? nil : delivery
    }

    /// What is to be done with a message whose turn it is.
    private enum Step {
        /// Its handlers run, except those of routes that were switched off while it waited.
        case handle(besides: [String])
        case notAdmitted(Outcome)
        /// For these routes.
        case deadLetter(DeadLetter.Reason, [String])
    }

    /// Asks the chain, and begins an attempt if the handlers are to run.
    private func step(of delivery: inout Delivery) -> Step {
        if let putOff = delivery.ticket.putOff {
            delivery.cause = putOff.cause
            return .deadLetter(putOff.reason, putOff.routes)
        }
        let wasAsked = delivery.incoming.passed != nil
        if !wasAsked, let outcome = ask(&delivery) { return .notAdmitted(outcome) }
        // Those that were switched off while it waited: among its own if it was asked before, from which the chain has
        // else just taken them.
        let routes =
            wasAsked ? delivery.incoming.remaining : delivery.message.stopped == nil ? [] : dueRoutes(of: delivery)
        let killed = receiver.loopGuard?.kills(of: delivery.message, routes) ?? []
        if !killed.isEmpty, delivery.incoming.remaining.allSatisfy({ killed.containsExactly($0.id) }) {
            return .deadLetter(.killSwitch, killed)
        }
        delivery.isPaced = false
        delivery.incoming.begin()
        return .handle(besides: killed)
    }

    private func handle(_ delivery: inout Delivery, besides killed: [String], _ write: Duration) async {
        let place = (keys: delivery.ticket.keys, write: write)
        let outcome = await receiver.handle(&delivery.incoming, besides: killed) { route, message in
            await self.run(route, of: message, place)
        }
        let end = storeKilled(&delivery, killed, outcome)
        guard case .failed(let failure) = end else { return await self.end(&delivery, end) }
        if let shortage = failure.error as? any ResourceShortage {
            return await lacked(&delivery, until: shortage.endsAt)
        }
        // The process has survived it; handlers that could not begin prove nothing.
        delivery.isSuspect = false
        await failed(&delivery, failure)
    }

    // MARK: Ask the chain

    /// Sends a message through the chain, with its routes as they are now; nil if its handlers may run.
    private func ask(_ delivery: inout Delivery, _ bypass: AdmissionBypass = .none) -> Outcome? {
        receiver.refresh(&delivery.incoming.message, delivery.incoming.table)
        let takesNewest =
            bypass != .superseded && !delivery.isSuspect
            && (delivery.settings.replacesOlder
                || delivery.isPaced && receiver.loopGuard?.takesNewest(delivery.message) == true)
        if takesNewest, change({ $0.room.takeNewest(&delivery) }) {
            receiver.refresh(&delivery.incoming.message, nil)
        }
        let outcome = receiver.ask(&delivery.incoming, bypass)
        if case .duplicate(.done) = outcome, bypass == .none, !delivery.incoming.done.isEmpty {
            // It was remembered when some of its routes had handled it; the others must still get it.
            return ask(&delivery, .seen)
        }
        if outcome == nil, takesNewest {
            let older = change { [delivery] state in
                let older = state.room.removeOlder(than: delivery)
                state.ending += older.count
                return older
            }
            for other in older { startEnding { await self.supersede(other) } }
        }
        return outcome
    }

    /// Ends a message that the chain did not admit, or lets it wait.
    func notAdmitted(_ delivery: inout Delivery, _ outcome: Outcome) async {
        switch outcome {
        case .paced(let until):
            undo(&delivery, outcome)
            if !delivery.isPaced { receiver.paced(delivery.message, until) }
            delivery.isPaced = true
            // A middleware of the program's own that names a time which is over must not be asked without end.
            wait(delivery, until: max(until, clock.now.advanced(by: .milliseconds(1))), blocks: true)
        case .failed(let failure):
            undo(&delivery, outcome)
            delivery.middlewareFailures += 1
            await failed(&delivery, failure)
        case .duplicate(.inFlight):
            // What the first copy's inbox has is safe; else this one waits for the end of the first.
            if isDurable { return await end(&delivery, .duplicate(.inFlight(.accept))) }
            undo(&delivery, outcome)
            // No longer than a person notices.
            wait(delivery, until: clock.now.advanced(by: .seconds(1)), blocks: false)
        case .looped(.killSwitch):
            let routes = dueRoutes(of: delivery).map(\.id)
            if routes.isEmpty, delivery.incoming.done.isEmpty { return await end(&delivery, outcome) }
            await deadLetter(&delivery, .killSwitch, for: routes)
        default: await end(&delivery, outcome)
        }
    }

    /// Ends a message that a newer change has replaced; the chain has to know it, or its copy would be new.
    private func supersede(_ replaced: Delivery) async {
        var delivery = replaced
        switch ask(&delivery, .superseded) {
        case nil, .failed, .paced, .duplicate(.inFlight): await end(&delivery, .superseded)
        case let outcome?: await end(&delivery, outcome)
        }
        await recordEnd(of: delivery)
    }

    /// Dead-letters a message with which the process ended too often; the chain is asked, so that it knows its copies.
    func quarantine(_ guilty: Delivery) async {
        var delivery = guilty
        _ = ask(&delivery)
        await deadLetter(&delivery, .quarantined)
        await recordEnd(of: delivery)
    }

    // MARK: The kill switch

    /// The routes that match a message now and are not done with it; not those that were off when it came, which do not
    /// get it later.
    func dueRoutes(of delivery: Delivery) -> [Route] {
        let (killed, done) = (delivery.ticket.killed, delivery.incoming.done)
        return receiver.match(delivery.message.message).filter { route in
            !killed.containsExactly(route.id) && !done.containsExactly(route.id)
        }
    }

    /// Dead-letters a message for the routes that were switched off, after the others have handled it.
    private func storeKilled(_ delivery: inout Delivery, _ killed: [String], _ outcome: Outcome) -> Outcome {
        if killed.isEmpty { return outcome }
        let stored = store(delivery, .killSwitch, killed)
        guard case .failed = stored else {
            delivery.incoming.deadLettered(killed)
            return outcome
        }
        // The chain has taken them from its routes; asked again, it finds them.
        undo(&delivery, stored)
        if case .failed(let failure) = outcome, !failure.isShortage { return outcome }
        return stored
    }

    // MARK: Waiting until a time

    /// Lets a delivery wait until it is due; its lane waits too, if `blocks`, so that its messages keep their order.
    func wait(_ delivery: Delivery, until due: MonotonicInstant, blocks: Bool) {
        change { state in
            state.room.putBack(delivery, until: due, blocks: blocks)
            state.wakeTimer(by: due)
        }
    }

    /// Undoes what the middlewares did that let a message pass, so that the chain is asked again.
    func undo(_ delivery: inout Delivery, _ outcome: Outcome) {
        receiver.chain.settle(delivery.message, outcome, delivery.incoming.passed ?? 0)
        delivery.incoming.passed = nil
    }

    /// The record that its handlers are about to run.
    private func beginning(of delivery: Delivery) -> InboxRecord {
        .begun(delivery.ticket.number, attempt: delivery.incoming.attempts)
    }

    /// The record that an attempt is over, and which routes are done.
    func failureRecord(of delivery: Delivery) -> InboxRecord {
        let done = delivery.incoming.done
        let given = delivery.message.answers?.all ?? [:]
        let answers = given.isEmpty ? [] : done.map { given[ExactText($0)] }
        return .failed(delivery.ticket.number, handled: done, answers: answers)
    }

    /// Lets a message wait for its next attempt, or dead-letters it after the last one.
    private func failed(_ delivery: inout Delivery, _ failure: Outcome.Failure) async {
        delivery.shortages = 0
        delivery.cause = ErrorReport.text(failure.error)
        let settings = delivery.settings
        let isRunning = change { state in
            // It may have failed because it was cancelled.
            if state.phase >= .cancelling { state.report.cancelled += 1 }
            return state.isRunning
        }
        if isRunning, delivery.tries >= settings.attempts { return await deadLetter(&delivery, .failed) }
        // Recorded when the service stops, too, so that it does not look as if it had ended the process.
        guard await record([failureRecord(of: delivery)]), isRunning else { return leave(delivery) }
        let pause = settings.pause(after: delivery.tries, jitter()) + delivery.incoming.takeRequestedPause()
        tell(
            .retry(
                messageID: delivery.message.id, route: failure.place, attempt: delivery.tries, pause: pause,
                cause: delivery.cause ?? "unknown"))
        wait(delivery, until: clock.now.advanced(by: pause), blocks: settings.onFailure == .block)
    }

    /// The pauses after consecutive shortages.
    static let shortage = {
        var settings = DeliverySettings()
        (settings.backoff, settings.maxBackoff) = (.milliseconds(100), .seconds(10))
        return settings
    }()

    /// Lets a message wait until its handlers may have what they lacked; that is no attempt.
    private func lacked(_ delivery: inout Delivery, until end: MonotonicInstant?) async {
        delivery.incoming.takeBack()
        delivery.shortages += 1
        guard await record([beginning(of: delivery), failureRecord(of: delivery)]) else { return leave(delivery) }
        let pause = Self.shortage.pause(after: delivery.shortages, jitter())
        wait(delivery, until: end ?? clock.now.advanced(by: pause), blocks: delivery.settings.onFailure == .block)
    }
}
