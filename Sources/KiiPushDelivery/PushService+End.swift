// How a message ends: for the chain, in the inbox, and for its transport; and how it is left.

import KiiPush

extension PushService {
    // MARK: The end

    /// Records that a delivery has ended, of which the chain knows: its payload leaves the inbox.
    func writeDown(_ ended: inout Ended?) async {
        guard let last = ended.take() else { return }
        finish(last, isRecorded: await record(.ended(last.delivery.ticket.number)))
    }

    /// Ends a delivery whose payload has left the inbox: its lane goes on, its place is free, its transport is told.
    ///
    /// One that is in the inbox still, since its end could not be recorded before the service stopped, is left there.
    func finish(_ ended: Ended, isRecorded: Bool) {
        var delivery = ended.delivery
        change { state in
            guard isRecorded else { return state.report.left += 1 }
            state.lanes.release(&delivery)
            if !state.isRunning { state.report.finished += 1 }
            state.vacate(&delivery)
        }
        delivery.walk.held?.finish(ended.outcome)
        delivery.ticket.receipt.finish(isRecorded ? delivery.walk.told ?? ended.outcome : nil)
    }

    /// Does what ends a delivery in a task of its own, for which the service waits before it stops.
    func startEnding(_ body: @escaping @Sendable () async -> Void) {
        change { $0.ending += 1 }
        startCounted(body)
    }

    /// Does what ends a delivery in a task of its own, which whoever calls has counted in ``ServiceState/ending``.
    func startCounted(_ body: @escaping @Sendable () async -> Void) {
        start { [self] in
            await body()
            change { $0.ending -= 1 }
        }
    }

    // MARK: Dead letters

    /// Dead-letters a message for some of its routes; the outcome says whether there was room.
    func deadLetter(_ delivery: Delivery, _ reason: DeadLetter.Reason, _ routes: [String]) -> Outcome {
        receiver.deadLetter(
            delivery.walk.message, reason, routes, attempts: delivery.walk.attempts, cause: delivery.walk.cause,
            inboxID: inboxID(delivery.ticket))
    }

    /// Dead-letters a message for all routes that have not handled it.
    func deadLetter(_ delivery: inout Delivery, _ reason: DeadLetter.Reason) -> MessageWalk.Step {
        putBackReplaced(&delivery)
        let routes = openRoutes(of: delivery.walk)
        // An earlier process has dead-lettered it for all of them.
        let isDone = routes.isEmpty && !delivery.walk.done.isEmpty
        let outcome = isDone ? .deadLettered(reason) : deadLetter(delivery, reason, routes)
        if case .failed(let failure) = outcome {
            tell(.storeFailed("a message could not be dead-lettered: \(failure.error)"))
        }
        return delivery.walk.deadLettered(outcome, reason, routes, isDurable: isDurable)
    }

    func openRoutes(of walk: MessageWalk) -> [String] { walk.open { receiver.match(walk.message.message) } }

    /// What a letter names its payload by, so that it can be written together with that one's end.
    func inboxID(_ ticket: Ticket) -> UInt64? { isDurable ? ticket.number : nil }

    // MARK: Replaced

    /// Ends the messages that a newer one of their object replaces, now that it is handled.
    func supersedeReplaced(_ delivery: inout Delivery) {
        for replaced in delivery.replaced { startEnding { await self.carryOut(.supersede, of: replaced) } }
        delivery.replaced = []
    }

    /// Gives the messages their turn that a newer one should have replaced, which is not handled itself.
    func putBackReplaced(_ delivery: inout Delivery) {
        guard !delivery.replaced.isEmpty else { return }
        let replaced = delivery.replaced
        delivery.replaced = []
        change { state in
            for delivery in replaced.reversed() { state.lanes.putFirst(delivery) }
        }
    }

    // MARK: Leaving

    /// Leaves a message that has not ended, since the service stops; the chain forgets that it came.
    func leave(_ delivery: Delivery) {
        change { $0.report.left += 1 + delivery.replaced.count }
        forget(delivery.walk)
        delivery.ticket.receipt.finish(nil)
        for replaced in delivery.replaced { replaced.ticket.receipt.finish(nil) }
    }

    /// Has the chain forget a message that came and has not ended.
    func forget(_ walk: MessageWalk) {
        let failure = Outcome.Failure(
            place: "service", isStage: true, error: ServiceStopped(), handled: walk.succeeded)
        receiver.chain.settle(walk.message, .failed(failure), walk.chain)
        walk.held?.finish(.failed(failure))
    }
}

/// A message was left by a service that stopped; a durable inbox has it for the next one.
struct ServiceStopped: Error {}
