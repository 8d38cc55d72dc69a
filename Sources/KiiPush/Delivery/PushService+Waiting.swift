// What waits outside the lanes: for the next attempt, for the loop guard, for the end of a copy.

import Synchronization

extension PushService {
    // MARK: The next attempt

    /// Lets a parcel wait for its next attempt; its lane waits with it where its settings say so.
    func schedule(_ parcel: Parcel, _ progress: Parcel.Progress, after pause: Duration) {
        parcel.progress = progress
        let isBlocking = parcel.delivery.onFailure == .block && progress.isGivenUp == nil
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

    // MARK: Held messages

    /// Lets a parcel wait until the loop guard lets its message go; it counts no more for what the service may take.
    func park(_ parcel: Parcel, _ held: HeldMessage) {
        state.withLock { state in
            state.parked[held.id] = (parcel, held.isRemainder)
            state.lanes.release(parcel)
        }
        free(1, parcel.bytes)
        wakeTimer(by: clock.now)
        Task {
            let outcome = await held.end() ?? .held(held)
            await unpark(parcel, held, outcome)
        }
        startWork()
    }

    private func unpark(_ parcel: Parcel, _ held: HeldMessage, _ outcome: Outcome) async {
        let isGone = state.withLock { state in
            guard state.parked.removeValue(forKey: held.id) != nil, state.phase != .stopped else { return true }
            state.messages += 1
            state.bytes += parcel.bytes
            return false
        }
        if isGone { return }
        guard case .failed(let failure) = outcome, !held.isRemainder else { return await end(parcel, outcome) }
        // Counted as failed by the receiver, which tries once; here it is tried again, and its end is what counts.
        receiver.counters.uncount(outcome)
        var progress = parcel.progress
        progress.attempts += 1
        progress.passed = nil
        progress.cause = "\(type(of: failure.error))"
        progress.done += failure.handled.ids
        await retry(parcel, progress, failure.place)
    }

    // MARK: Copies

    /// Lets a copy wait for the end of the message that it repeats, without keeping others from being handled.
    func park(_ parcel: Parcel, _ lease: SeenLease, _ message: RoutedMessage, _ passed: Int) {
        state.withLock { state in
            state.copies += 1
            state.lanes.release(parcel)
        }
        Task {
            let outcome = await receiver.wait(for: lease, message)
            state.withLock { $0.copies -= 1 }
            await end(parcel, receiver.settle(message, outcome, passed).outcome)
        }
        startWork()
    }

    // MARK: Leaving

    /// Leaves a message that has not ended, since the service stops; the chain forgets that it came, unless it knows its
    /// end.
    func leave(_ parcel: Parcel, _ progress: Parcel.Progress?) {
        if let progress, let passed = progress.passed {
            let failure = Outcome.Failure(
                place: "service", isStage: true, error: ServiceStopped(), handled: progress.succeeded)
            receiver.chain.settle(progress.message, .failed(failure), passed)
        }
        parcel.receipt.finish(nil)
    }
}

/// A message was left by a service that stopped; a durable inbox has it for the next one.
struct ServiceStopped: Error {}
