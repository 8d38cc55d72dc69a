// The path of a message whose turn it is; read it from top to bottom. It is that of `PushReceiver+Receive.swift`, over
// an inbox: what cannot end yet waits until a time, by `wait(_:until:blocks:)`.

import KiiPush

/// A delivery that has ended for the chain, but is still in the inbox.
struct Ended: Sendable {
    var delivery: Delivery
    let outcome: Outcome
    /// What its sender gets.
    let answer: Answer?
}

extension PushService {
    /// Delivers a message whose turn it is, and then the next ones until none is ready.
    func work(_ first: Delivery) async {
        var (delivery, ended) = (first, Ended?.none)
        while true {
            await deliver(delivery, &ended)
            // A delivery that must run alone does so until its end is recorded.
            if delivery.isSuspect { await writeDown(&ended) }
            guard let next = await next(after: delivery, &ended) else { return }
            delivery = next
        }
    }

    /// The next message whose turn it is; nil if there is none and every end is recorded.
    private func next(after last: Delivery, _ ended: inout Ended?) async -> Delivery? {
        let next: Delivery? = change { state in
            state.leaveOff(last)
            if let next = state.next() { return next }
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

    /// Delivers a message until it ends, waits, or is left: asks the chain, runs the handlers, and ends it.
    ///
    /// The end of the previous delivery is recorded together with the beginning of this one, or alone before any other
    /// step; `ended` is then this delivery, if it has ended. If it waits, the caller no longer owns it.
    private func deliver(_ given: Delivery, _ ended: inout Ended?) async {
        var delivery = given
        if delivery.isGuilty {
            await writeDown(&ended)
            // So that the deduplicator knows the message's copies.
            _ = ask(&delivery)
            return await deadLetter(&delivery, .quarantined, &ended)
        }
        if let putOff = delivery.ticket.putOff {
            await writeDown(&ended)
            delivery.cause = putOff.cause
            return await deadLetter(&delivery, putOff.reason, &ended, for: putOff.routes)
        }
        let wasAsked = delivery.incoming.passed != nil
        if !wasAsked, let outcome = ask(&delivery) {
            await writeDown(&ended)
            return await notAdmitted(&delivery, outcome, &ended)
        }
        let killed = wasAsked || delivery.message.stopped != nil ? killed(delivery, wasAsked) : []
        if !killed.isEmpty, delivery.incoming.remaining.allSatisfy({ killed.containsExactly($0.id) }) {
            await writeDown(&ended)
            return await deadLetter(&delivery, .killSwitch, &ended, for: killed)
        }
        delivery.isPaced = false
        delivery.incoming.begin()
        let before = clock.now
        guard await begin(delivery, &ended) else { return leave(delivery) }
        let place = (keys: delivery.ticket.keys, write: before.duration(to: clock.now))
        let outcome = await receiver.handle(&delivery.incoming, besides: killed) { route, message in
            await self.run(route, of: message, place)
        }
        let end = storeKilled(&delivery, killed, outcome)
        guard case .failed(let failure) = end else { return await self.end(&delivery, end, &ended) }
        if let shortage = failure.error as? any ResourceShortage {
            return await lacked(&delivery, until: shortage.endsAt)
        }
        // The process has survived it; handlers that could not begin prove nothing.
        delivery.isSuspect = false
        await failed(&delivery, failure, &ended)
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
            let older = change { [delivery] in $0.room.removeOlder(than: delivery) }
            for other in older { startEnding { await self.supersede(other) } }
        }
        return outcome
    }

    /// Ends a message that the chain did not admit, or lets it wait.
    func notAdmitted(_ delivery: inout Delivery, _ outcome: Outcome, _ ended: inout Ended?) async {
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
            await failed(&delivery, failure, &ended)
        case .duplicate(.inFlight):
            // What the first copy's inbox has is safe; else this one waits for the end of the first.
            if isDurable { return await end(&delivery, .duplicate(.inFlight(.accept)), &ended) }
            undo(&delivery, outcome)
            // No longer than a person notices.
            wait(delivery, until: clock.now.advanced(by: .seconds(1)), blocks: false)
        case .looped(.killSwitch):
            let routes = dueRoutes(of: delivery).map(\.id)
            if routes.isEmpty, delivery.incoming.done.isEmpty { return await end(&delivery, outcome, &ended) }
            await deadLetter(&delivery, .killSwitch, &ended, for: routes)
        default: await end(&delivery, outcome, &ended)
        }
    }

    /// Ends a message that a newer change has replaced; the chain has to know it, or its copy would be new.
    private func supersede(_ replaced: Delivery) async {
        var (delivery, ended) = (replaced, Ended?.none)
        switch ask(&delivery, .superseded) {
        case nil, .failed, .paced, .duplicate(.inFlight): await end(&delivery, .superseded, &ended)
        case let outcome?: await end(&delivery, outcome, &ended)
        }
        await writeDown(&ended)
    }

    // MARK: The kill switch

    /// The routes that were switched off while a message waited: among its own if it was asked before, from which the
    /// chain has else just taken them.
    private func killed(_ delivery: Delivery, _ wasAsked: Bool) -> [String] {
        let routes = wasAsked ? delivery.incoming.remaining : dueRoutes(of: delivery)
        return receiver.loopGuard?.kills(of: delivery.message, routes) ?? []
    }

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

    /// Records that handlers are about to run, together with the end of the previous delivery.
    private func begin(_ delivery: Delivery, _ ended: inout Ended?) async -> Bool {
        let begun = InboxRecord.begun(delivery.ticket.number, attempt: delivery.incoming.attempts)
        guard let last = ended.take() else { return await record(begun) }
        let isRecorded = await record(.ended(last.delivery.ticket.number), begun)
        finish(last, isRecorded: isRecorded)
        return isRecorded
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

    /// The record that an attempt is over, and which routes are done.
    func failureRecord(of delivery: Delivery) -> InboxRecord {
        let done = delivery.incoming.done
        let given = delivery.message.answers?.all ?? [:]
        let answers = given.isEmpty ? [] : done.map { given[ExactText($0)] }
        return .failed(delivery.ticket.number, handled: done, answers: answers)
    }

    /// Lets a message wait for its next attempt, or dead-letters it after the last one.
    private func failed(_ delivery: inout Delivery, _ failure: Outcome.Failure, _ ended: inout Ended?) async {
        delivery.shortages = 0
        delivery.cause = ErrorReport.text(failure.error)
        let settings = delivery.settings
        let isRunning = change { state in
            // It may have failed because it was cancelled.
            if state.phase >= .cancelling { state.report.cancelled += 1 }
            return state.isRunning
        }
        if isRunning, delivery.tries >= settings.attempts { return await deadLetter(&delivery, .failed, &ended) }
        // Recorded when the service stops, too, so that it does not look as if it had ended the process.
        guard await record(failureRecord(of: delivery)), isRunning else { return leave(delivery) }
        let pause = settings.pause(after: delivery.tries, jitter())
        tell(
            .retry(
                messageID: delivery.message.id, route: failure.place, attempt: delivery.tries, pause: pause,
                cause: delivery.cause ?? "unknown"))
        wait(delivery, until: clock.now.advanced(by: pause), blocks: settings.onFailure == .block)
    }

    /// Lets a message wait until its handlers may have what they lacked; that is no attempt.
    private func lacked(_ delivery: inout Delivery, until end: MonotonicInstant?) async {
        delivery.incoming.takeBack()
        delivery.shortages += 1
        let begun = InboxRecord.begun(delivery.ticket.number, attempt: delivery.incoming.attempts)
        guard await record(begun, failureRecord(of: delivery)) else { return leave(delivery) }
        let pause = DeliverySettings.pause(afterShortages: delivery.shortages, jitter())
        wait(delivery, until: end ?? clock.now.advanced(by: pause), blocks: delivery.settings.onFailure == .block)
    }
}

extension DeliverySettings {
    /// How long to wait after consecutive shortages, counted from 1; jitter as for a failure.
    static func pause(afterShortages count: Int, _ jitter: Double) -> Duration {
        var settings = DeliverySettings()
        (settings.backoff, settings.maxBackoff) = (.milliseconds(100), .seconds(10))
        return settings.pause(after: count, jitter)
    }
}
