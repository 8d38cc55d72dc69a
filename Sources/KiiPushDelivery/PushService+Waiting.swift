// What waits outside the lanes: for the next attempt, for the end of a copy, for the loop guard.

import KiiPush
import Synchronization

extension PushService {
    // MARK: The next attempt

    /// Lets a parcel wait for its next attempt; its lane waits with it where its settings say so.
    func schedule(_ parcel: Parcel, _ progress: Parcel.Progress, after pause: Duration) {
        parcel.progress = progress
        let isBlocking = parcel.delivery.onFailure == .block
        let due = clock.now.advanced(by: pause)
        state.withLock { state in
            // Behind those that are due at the same time.
            let index = state.retries.firstIndex { $0.due > due } ?? state.retries.endIndex
            state.retries.insert((due, parcel), at: index)
            if !isBlocking { state.lanes.release(parcel) }
        }
        wakeTimer(by: due)
        startWork()
    }

    // MARK: Copies

    /// Lets a copy wait for the end of the message that it repeats, without keeping others from being handled.
    func waitForFirst(_ parcel: Parcel, _ given: Parcel.Progress, _ lease: SeenLease, _ passed: Int) {
        state.withLock { state in
            state.copies[ObjectIdentifier(parcel)] = parcel
            state.lanes.release(parcel)
        }
        var progress = given
        progress.chain = .passed(passed)
        start { [self, progress] in
            let outcome = await receiver.wait(for: lease, progress.message)
            let isHere = state.withLock { state in
                guard state.copies.removeValue(forKey: ObjectIdentifier(parcel)) != nil else { return false }
                state.ending += 1
                return true
            }
            guard isHere else { return }
            _ = await conclude(parcel, progress, outcome)
            let wake = state.withLock { state in
                state.ending -= 1
                return state.takeWoken(settings)
            }
            wake()
        }
    }

    // MARK: Held messages

    /// Lets a parcel wait until the loop guard lets its message go; it counts no more for what the service may take.
    func park(_ parcel: Parcel, _ given: Parcel.Progress, _ held: HeldMessage) {
        var progress = given
        progress.held?.finish(progress.told ?? .held(held))
        progress.held = held
        parcel.progress = progress
        state.withLock { state in
            state.parked[held.id] = parcel
            state.vacate(parcel)
        }
    }

    /// Lets the lane of a parcel go on that the loop guard holds by now; before, a later one could be held in front of it.
    func letLaneGoOn(_ parcel: Parcel) {
        state.withLock { $0.lanes.release(parcel) }
        startWork()
    }

    /// Takes a parcel back from the loop guard; nil when the service has left it.
    private func unpark(_ held: HeldMessage, isHandled: Bool = true) -> Parcel? {
        let parcel = state.withLock { state in
            guard state.phase != .stopped, let parcel = state.parked.removeValue(forKey: held.id) else {
                return nil as Parcel?
            }
            state.enter(parcel)
            if isHandled { state.handling += 1 }
            return parcel
        }
        if parcel != nil, !held.isRemainder { receiver.counters.uncountHeld() }
        return parcel
    }

    private func doneUnparked() {
        let wake = state.withLock { state in
            state.handling -= 1
            return state.takeWoken(settings)
        }
        wake()
        startWork()
    }

    /// Lets go of a held message that the service leaves.
    func abandon(_ held: HeldMessage) {
        if !held.isRemainder { receiver.counters.uncountHeld() }
        held.abandon()
    }
}

extension PushService: HeldKeeper {
    var isDurable: Bool { inbox.isDurable }

    /// Handles a held message; one whose handler fails is tried again as any other, under the same lease.
    func run(_ held: HeldMessage, _ bypass: AdmissionBypass) async -> Outcome? {
        guard let parcel = unpark(held) else {
            held.abandon()
            return nil
        }
        defer { doneUnparked() }
        return await resume(parcel, held, bypass)
    }

    /// Puts a held message before those of its lane, behind others that had their turn before it.
    func giveTurn(_ held: HeldMessage, _ breaker: BreakerID) {
        guard let parcel = unpark(held, isHandled: false) else {
            held.abandon()
            receiver.loopGuard?.turnEnded(breaker)
            return
        }
        var progress = parcel.progress
        progress.turn = Parcel.Turn(held: held, breaker: breaker)
        parcel.progress = progress
        let isOver = state.withLock { state in
            if state.phase == .stopped { return true }
            state.lanes.putReleased(parcel)
            return false
        }
        if isOver {
            leave(parcel, progress)
            receiver.loopGuard?.turnEnded(breaker)
        }
        startWork()
    }

    /// Handles a message whose turn it is, and gives the next ones theirs.
    func take(_ turn: Parcel.Turn, of parcel: Parcel, _ worker: Worker?) async {
        var progress = parcel.progress
        progress.turn = nil
        parcel.progress = progress
        _ = await resume(parcel, turn.held, .breaker(turn.breaker), worker)
        receiver.loopGuard?.turnEnded(turn.breaker)
        if mayLetGo { receiver.giveTurns() }
    }

    private func resume(
        _ parcel: Parcel, _ held: HeldMessage, _ bypass: AdmissionBypass, _ worker: Worker? = nil
    ) async -> Outcome? {
        var progress = parcel.progress
        let (message, match, next) = receiver.resume(held, bypass)
        if case .handle = next {} else { await writeDownEnd(of: worker) }
        progress.message = message
        switch next {
        case .handle:
            progress.killed = match.ended(in: message)
            return await attempt(parcel, progress, worker)
        case .hold(let breaker):
            guard let loopGuard = receiver.loopGuard, loopGuard.promise(breaker, bytes: held.bytes) != nil else {
                return await putAside(parcel, progress, .holdLimitReached)
            }
            holdAgain(parcel, held)
            loopGuard.hold(held, breaker)
            letLaneGoOn(parcel)
            return nil
        case .end(.looped(.killSwitch)):
            progress.killed = held.routes
            return await putAside(parcel, progress, .killSwitch)
        case .end(let end): return await conclude(parcel, progress, end)
        // Only the deduplicator says so, and a message that was held has passed it.
        case .wait: return await conclude(parcel, progress, .unrouted(.noRoute))
        }
    }

    private func holdAgain(_ parcel: Parcel, _ held: HeldMessage) {
        if !held.isRemainder { receiver.counters.count(.held(held)) }
        state.withLock { state in
            state.parked[held.id] = parcel
            state.vacate(parcel)
        }
    }

    /// Ends a held message unhandled.
    func drop(_ held: HeldMessage) {
        end(held) { parcel, progress in _ = await self.conclude(parcel, progress, .looped(.rate)) }
    }

    /// Ends a held message unhandled, since a newer change of its object has its place.
    func supersede(_ held: HeldMessage) {
        end(held) { parcel, progress in _ = await self.conclude(parcel, progress, .superseded) }
    }

    /// Puts a held message among the dead letters.
    func putAside(_ held: HeldMessage, _ reason: DeadLetter.Reason) {
        end(held) { parcel, progress in _ = await self.putAside(parcel, progress, reason) }
    }

    private func end(_ held: HeldMessage, _ body: @escaping @Sendable (Parcel, Parcel.Progress) async -> Void) {
        guard let parcel = unpark(held) else { return held.abandon() }
        startEnding {
            var progress = parcel.progress
            progress.message = held.traced()
            await body(parcel, progress)
        }
        doneUnparked()
    }
}
