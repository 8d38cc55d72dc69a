// Messages that cannot end yet: they wait for the next attempt, for the first copy, or for the loop guard.

import KiiPush

extension PushService {
    // MARK: The next attempt

    /// Lets a delivery wait for its next attempt; its lane waits too, if its settings say so.
    func schedule(_ delivery: Delivery, after pause: Duration) {
        let due = clock.now.advanced(by: pause)
        change { state in
            var delivery = delivery
            if delivery.ticket.settings.onFailure != .block { state.lanes.release(&delivery) }
            // After those that are due at the same time.
            let index = state.retries.firstIndex { $0.due > due } ?? state.retries.endIndex
            state.retries.insert((due, delivery), at: index)
            state.wakeTimer(by: due)
        }
    }

    // MARK: Copies

    /// Lets a duplicate wait for the end of the first message, without blocking others.
    func follow(_ delivery: inout Delivery, _ lease: SeenLease) {
        putBackReplaced(&delivery)
        change { state in
            state.lanes.release(&delivery)
            state.copies[delivery.ticket.number] = delivery
        }
        let (number, message) = (delivery.ticket.number, delivery.walk.message)
        start { [self] in
            let outcome = await receiver.wait(for: lease, message)
            let delivery: Delivery? = change { state in
                guard state.phase != .stopped else { return nil }
                let delivery = state.copies.removeValue(forKey: number)
                if delivery != nil { state.ending += 1 }
                return delivery
            }
            guard let delivery else { return }
            await carryOut(.end(outcome), of: delivery)
            change { $0.ending -= 1 }
        }
    }

    // MARK: Held messages

    /// Lets the loop guard hold a message, if it has capacity.
    func hold(_ delivery: inout Delivery, _ breaker: BreakerID, _ passed: Int) -> Bool {
        let held = receiver.keep(delivery.walk.message, breaker, passed, for: self) { park(&delivery, $0) }
        if held != nil { letLaneGoOn(&delivery) }
        return held != nil
    }

    /// Lets the loop guard hold a message again, which has a reserved place.
    func holdAgain(_ delivery: inout Delivery, _ held: HeldMessage, _ breaker: BreakerID) {
        if !held.isRemainder { receiver.counters.count(.held(held)) }
        store(&delivery, under: held)
        receiver.loopGuard?.hold(held, breaker)
        letLaneGoOn(&delivery)
    }

    /// Lets the loop guard hold the remaining routes of a message that has ended for the others.
    ///
    /// - Returns: the outcome if there is no capacity for it; nil if it is held.
    func holdRemainder(_ delivery: inout Delivery, _ outcome: Outcome) -> Outcome? {
        let (end, held) = receiver.holdRemainder(
            delivery.walk.message, outcome, for: self, inboxID: inboxID(delivery.ticket)
        ) { held in
            receiver.end(delivery.walk.message, outcome, delivery.walk.chain)
            park(&delivery, held, told: outcome)
        }
        guard held != nil else { return end }
        letLaneGoOn(&delivery)
        let receipt = delivery.ticket.receipt
        if receipt.isStored { receipt.finish(delivery.walk.told) }
        return nil
    }

    /// Lets a delivery wait until the loop guard releases its message; its place becomes free.
    private func park(_ delivery: inout Delivery, _ held: HeldMessage, told outcome: Outcome? = nil) {
        let before = delivery.walk.hold(held, told: outcome)
        before?.finish(delivery.walk.told ?? .held(held))
        store(&delivery, under: held)
    }

    private func store(_ delivery: inout Delivery, under held: HeldMessage) {
        change { state in
            state.vacate(&delivery)
            // The caller releases its lane.
            var parked = delivery
            parked.hasLane = false
            state.parked[held.id] = parked
        }
    }

    /// Unblocks the lane of a message that is held now; earlier, a later message could have been held before it.
    private func letLaneGoOn(_ delivery: inout Delivery) { change { $0.lanes.release(&delivery) } }

    /// Notifies a breaker that its turn has ended, and gives held messages their turns.
    func giveTurns(after breaker: BreakerID) {
        receiver.loopGuard?.turnEnded(breaker)
        if mayLetGo { receiver.giveTurns() }
    }

    /// Whether held messages may have their turns: the service is open, and no message runs alone.
    var mayLetGo: Bool {
        change { state in
            if case .none = state.alone { state.phase == .open } else { false }
        }
    }

    /// Releases held messages when their turn comes, one after another, until the service stops.
    func runHeld() async {
        while change({ $0.isRunning }) {
            let now = clock.now
            var latest = now.advanced(by: .seconds(1))
            if let due = receiver.loopGuard?.nextDue {
                if due <= now, mayLetGo { receiver.giveTurns() }
                if due > now { latest = min(due, latest) }
            }
            do { try await clock.sleep(until: latest) } catch { return }
        }
    }
}

// MARK: - Letting go

extension PushService: HeldKeeper {
    var isDurable: Bool { inbox.isDurable }

    /// Handles a held message; if its handler fails, it is tried again like any other, under the same lease.
    func run(_ held: HeldMessage, _ bypass: AdmissionBypass) async -> Outcome? {
        guard let (delivery, isRunning) = unpark(held, { state, _ in state.inFlight += 1 }) else { return nil }
        defer { change { $0.inFlight -= 1 } }
        guard isRunning else {
            leave(delivery)
            return nil
        }
        return await carryOut(.resume(held, bypass), of: delivery)
    }

    /// Puts a held message before those of its lane, behind others that had their turns before it.
    func giveTurn(_ held: HeldMessage, _ breaker: BreakerID) {
        let unparked = unpark(held) { state, delivery in
            var delivery = delivery
            delivery.walk.prepare(for: .resume(held, .breaker(breaker)))
            state.lanes.putReleased(delivery)
        }
        if unparked == nil { receiver.loopGuard?.turnEnded(breaker) }
    }

    /// Ends a held message unhandled.
    func drop(_ held: HeldMessage) { end(held, .end(.looped(.rate))) }

    /// Ends a held message unhandled, because a newer change of its object replaces it.
    func supersede(_ held: HeldMessage) { end(held, .end(.superseded)) }

    /// Dead-letters a held message.
    func putAside(_ held: HeldMessage, _ reason: DeadLetter.Reason) { end(held, .deadLetter(reason)) }

    private func end(_ held: HeldMessage, _ purpose: MessageWalk.Purpose) {
        guard var (delivery, _) = unpark(held, { state, _ in state.ending += 1 }) else { return }
        delivery.walk.message = held.traced()
        startCounted { [delivery] in await self.carryOut(purpose, of: delivery) }
    }

    /// Takes a delivery back from the loop guard and passes it to `take`; nil if the service has left it.
    private func unpark(
        _ held: HeldMessage, _ take: (inout ServiceState, Delivery) -> Void
    ) -> (Delivery, isRunning: Bool)? {
        if !held.isRemainder { receiver.counters.uncountHeld() }
        let unparked: (Delivery, Bool)? = change { state in
            guard state.phase != .stopped, var delivery = state.parked.removeValue(forKey: held.id) else { return nil }
            state.enter(&delivery)
            take(&state, delivery)
            return (delivery, state.isRunning)
        }
        if unparked == nil { held.abandon() }
        return unparked
    }
}
