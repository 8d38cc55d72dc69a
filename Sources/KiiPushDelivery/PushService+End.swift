// The end of a message in the chain, in the inbox, and for its transport; and leaving a message that has not ended.

import KiiPush

extension PushService {
    // MARK: The end

    /// Ends a delivery for the chain; its end must still be recorded.
    func end(_ delivery: inout Delivery, _ outcome: Outcome) async {
        // The end in the deduplication store is perhaps written before the end in the inbox: after a crash in between,
        // the message would be a duplicate, and its dead letter or its answer lost.
        var records: [InboxRecord] = []
        if let passed = delivery.incoming.passed, passed > 0, delivery.incoming.isDeadLettered {
            records.append(failureRecord(of: delivery))
        }
        let answer = delivery.incoming.answer(outcome)
        // Without a sender, only its transport passes it on.
        if let answer, let sender = answerSenders.sender(of: delivery.message.message) {
            let (number, payload) = (delivery.ticket.number, delivery.message.message.raw)
            records.append(.answer(UnsentAnswer(id: number, sender: sender.name, payload: payload, answer: answer)))
        }
        // Most messages have none.
        if !records.isEmpty, await !record(records) { return leave(delivery) }
        receiver.end(delivery.incoming, outcome)
        delivery.end = (outcome, answer)
    }

    /// Records the end of a delivery, if it has ended for the chain: its payload is removed from the inbox.
    func recordEnd(of delivery: Delivery) async {
        guard delivery.end != nil else { return }
        finish(delivery, isRecorded: await record([.ended(delivery.ticket.number)]))
    }

    /// Ends a delivery whose payload was removed from the inbox, or stays there because the service has stopped: frees
    /// its lane and place, and notifies its transport.
    func finish(_ delivery: Delivery, isRecorded: Bool) {
        change { state in
            guard isRecorded else { return state.report.left += 1 }
            state.room.leave(delivery)
            if !state.isRunning { state.report.finished += 1 }
        }
        guard isRecorded, let end = delivery.end else { return delivery.ticket.receipt.finish(nil) }
        // Also for an answer of an earlier process.
        if delivery.message.answers != nil { answerSenders.wake() }
        delivery.ticket.receipt.finish(end.outcome, end.answer)
    }

    /// Runs work that ends a delivery in its own task, which the caller has counted in ``ServiceState/ending``, so that
    /// the service waits for it before it stops.
    func startEnding(_ body: @escaping @Sendable () async -> Void) {
        start { [self] in
            await body()
            change { $0.ending -= 1 }
        }
    }

    // MARK: Dead letters

    /// Dead-letters a message for some routes, by default for all that have not handled it, and ends it; if the store
    /// has no capacity, a durable inbox keeps it, else its transport delivers it again.
    func deadLetter(_ delivery: inout Delivery, _ reason: DeadLetter.Reason, for routes: [String]? = nil) async {
        // The chain has perhaps stopped all of its routes.
        let remaining = delivery.incoming.remaining
        let routes = routes ?? (remaining.isEmpty ? dueRoutes(of: delivery) : remaining).map(\.id)
        // An earlier process has dead-lettered it for all of them.
        let isDone = routes.isEmpty && !delivery.incoming.done.isEmpty
        let outcome = isDone ? .deadLettered(reason) : store(delivery, reason, routes)
        guard case .failed = outcome else {
            delivery.incoming.deadLettered(routes)
            return await end(&delivery, reason == .quarantined ? .quarantined : outcome)
        }
        guard isDurable else { return await end(&delivery, outcome) }
        if delivery.ticket.putOff != nil {
            let pause = max(change { $0.delivery.maxBackoff }, .seconds(1))
            return wait(delivery, until: clock.now.advanced(by: pause), blocks: true)
        }
        // No handler runs any more that could end the process.
        if delivery.incoming.attempts > 0, await !record([failureRecord(of: delivery)]) { return leave(delivery) }
        putOff(delivery, PutOff(reason: reason, routes: routes, cause: delivery.cause))
    }

    /// Leaves a message in the inbox until the dead-letter store has capacity for it; the chain forgets it.
    private func putOff(_ delivery: Delivery, _ putOff: PutOff) {
        forget(delivery)
        if let gap = gap(of: delivery) { close(gap) }
        change { state in
            state.room.leave(delivery)
            _ = state.room.append(Ticket(delivery.ticket, putOff), isOld: true)
        }
    }

    /// Adds a message to the dead letters for some of its routes; the outcome is `failed` if the store has no capacity
    /// or throws.
    func store(_ delivery: Delivery, _ reason: DeadLetter.Reason, _ routes: [String]) -> Outcome {
        // With the payload's number, the letter and the end of the payload are written together.
        let outcome = receiver.deadLetter(
            delivery.message, reason, routes, attempts: delivery.incoming.attempts, cause: delivery.cause,
            inboxID: isDurable ? delivery.ticket.number : nil)
        if case .failed(let failure) = outcome {
            fails(.deadLetters, "a message could not be dead-lettered: \(failure.error)")
        } else {
            works(.deadLetters)
            reportLosses(of: nil)
        }
        return outcome
    }

    // MARK: Without a turn

    /// Dead-letters a payload that is not a message for this process; if it does not fit, it stays for the next
    /// process.
    func endUndecodable(_ entry: InboxEntry, _ error: DecodeError) async {
        if reject(entry.payload, error, inboxID: isDurable ? entry.id : nil) { _ = await record([.ended(entry.id)]) }
    }

    /// Ends a delivery that found no capacity: dead-letters it if its handlers were to run, now or later.
    func endUnplaced(_ delivery: Delivery) async {
        var delivery = delivery
        // A replay is not asked: what was handled before, or caused by this device, must not be a dead letter.
        switch receiver.ask(&delivery.incoming) {
        case nil, .paced, .failed: await deadLetter(&delivery, .backlogFull)
        case let outcome?: await notAdmitted(&delivery, outcome)
        }
        await recordEnd(of: delivery)
    }

    /// Ends changes of an object that a newer one replaced while they waited: perhaps thousands, and other records wait
    /// for each step.
    func endReplaced(_ tickets: [Ticket], atOnce: Int = 128) async {
        for start in stride(from: 0, to: tickets.count, by: atOnce) {
            let some = tickets[start..<min(start + atOnce, tickets.count)]
            let isRecorded = await record(some.map { .ended($0.number) })
            if !isRecorded { change { $0.report.left += some.count } }
            for ticket in some {
                if isRecorded { receiver.counters.count(.superseded) }
                ticket.receipt.finish(isRecorded ? .superseded : nil)
            }
        }
    }

    // MARK: Leaving

    /// Leaves a message that has not ended when the service stops; the chain forgets that it arrived.
    func leave(_ delivery: Delivery) {
        change { $0.report.left += 1 }
        forget(delivery)
        delivery.ticket.receipt.finish(nil)
    }

    /// Has the chain forget a message that arrived and has not ended.
    func forget(_ delivery: Delivery) {
        var delivery = delivery
        undo(
            &delivery,
            .failure(of: "service", isMiddleware: true, ServiceStopped(), handled: delivery.incoming.succeeded))
        receiver.loopGuard?.forget(delivery.message)
    }
}

/// The service stopped and left a message whose handlers did not begin, so that no attempt is counted.
struct ServiceStopped: ResourceShortage {}
