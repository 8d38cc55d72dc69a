// Handling what is ready: the chain once, the handlers as often as it takes, and the end.

import Synchronization

extension PushService {
    /// Starts a task for each parcel whose turn it is, as far as there may be more.
    func startWork() {
        while let parcel = nextParcel() { Task { await work(parcel) } }
    }

    private func nextParcel() -> Parcel? {
        state.withLock { state in
            guard state.phase == .open, state.handling < settings.concurrency, let parcel = state.lanes.next() else {
                return nil
            }
            state.handling += 1
            return parcel
        }
    }

    /// Delivers a parcel, and then others for as long as their turn comes.
    private func work(_ first: Parcel) async {
        var parcel = first
        while true {
            await deliver(parcel)
            let next = state.withLock { state in
                guard state.phase == .open, let next = state.lanes.next() else {
                    state.handling -= 1
                    return nil as Parcel?
                }
                return next
            }
            guard let next else { break }
            parcel = next
        }
        // What came between the last look and the count finds its task here.
        startWork()
        wakeIdle()
    }

    /// Delivers a parcel as far as it goes now: to its end, to its next attempt, or to where it waits.
    func deliver(_ parcel: Parcel) async {
        var progress = parcel.progress
        if let reason = progress.isGivenUp { return await putAside(parcel, progress, reason) }
        if progress.passed == nil {
            guard await takeUp(parcel, &progress) else { return }
        } else if receiver.loopGuard?.isKilled(progress.message) ?? false {
            return await putAside(parcel, progress, .killSwitch)
        }
        await attempt(parcel, &progress)
    }

    // MARK: The chain

    /// Sends a message through the chain; whether its handlers are to run now.
    private func takeUp(_ parcel: Parcel, _ progress: inout Parcel.Progress) async -> Bool {
        receiver.refresh(&progress.message)
        var passed = 0
        switch receiver.admit(&progress.message, passed: &passed) {
        case .handle:
            progress.passed = passed
            parcel.progress = progress
            return true
        case .hold(let breaker):
            let outcome = receiver.hold(progress.message, breaker, passed)
            if case .held(let held) = outcome { park(parcel, held) } else { await end(parcel, outcome) }
        case .wait(let lease): park(parcel, lease, progress.message, passed)
        case .end(.looped(.killSwitch)) where !parcel.wasKilled:
            progress.passed = passed
            await putAside(parcel, progress, .killSwitch)
        case .end(.failed(let failure)):
            // Undone and not counted: the chain judges it anew, and its end is what counts.
            receiver.chain.settle(progress.message, .failed(failure), passed)
            progress.attempts += 1
            progress.cause = "\(type(of: failure.error))"
            await retry(parcel, progress, failure.place)
        case .end(let outcome):
            let (end, remainder) = receiver.settle(progress.message, outcome, passed)
            await self.end(parcel, end, remainder, progress)
        }
        return false
    }

    /// Ends a message that a newer one of its object has replaced; the chain has to know, or its copy would be new.
    func supersede(_ parcel: Parcel) async {
        var message = parcel.progress.message
        receiver.refresh(&message)
        var passed = 0
        var outcome = Outcome.superseded
        switch receiver.admit(&message, passed: &passed) {
        case .handle, .hold, .wait: break
        case .end(let end): outcome = end
        }
        await end(parcel, receiver.settle(message, outcome, passed).outcome)
    }

    // MARK: The handlers

    /// Runs the handlers that have not succeeded yet.
    private func attempt(_ parcel: Parcel, _ progress: inout Parcel.Progress) async {
        progress.attempts += 1
        guard await note(.begun(parcel.number, attempt: progress.attempts)) else { return leave(parcel, progress) }
        var failure: Outcome.Failure?
        for route in progress.remaining {
            switch await run(route, parcel, progress) {
            case .handled: progress.done.append(route.id)
            case .looped(let layer):
                progress.done.append(route.id)
                progress.loopEnd = progress.loopEnd ?? layer
            case .failed(let reason): failure = failure ?? reason
            default: break
            }
        }
        guard let failure else {
            let outcome = progress.loopEnd.map { Outcome.looped($0) } ?? .handled(progress.succeeded)
            let (end, remainder) = receiver.settle(progress.message, outcome, progress.passed ?? 0)
            return await self.end(parcel, end, remainder, progress)
        }
        progress.cause = "\(type(of: failure.error))"
        if state.withLock({ $0.phase == .stopping || $0.phase == .stopped }) {
            // So that it does not look as if it had ended the process.
            _ = await note(.failed(parcel.number, handled: progress.done))
            return leave(parcel, progress)
        }
        await retry(parcel, progress, failure.place)
    }

    /// Runs one handler, for as long as it may take.
    private func run(_ route: Route, _ parcel: Parcel, _ progress: Parcel.Progress) async -> Outcome {
        var message = progress.message
        message.routes = MatchedRoutes([route])
        let timeout = (route.delivery ?? parcel.delivery).timeout
        let (receiver, single) = (receiver, message)
        let end = await withCheckedContinuation { waiter in
            let run = begin(single.id, route.id, timeout, waiter)
            run.start(
                Task {
                    var message = single
                    let outcome = await receiver.handle(&message)
                    self.ended(run, outcome)
                })
        }
        switch end {
        case .returned(let outcome): return outcome
        case .left:
            return .failed(
                Outcome.Failure(place: route.id, isStage: false, error: HandlerOverrun(), handled: MatchedRoutes()))
        }
    }

    // MARK: The end

    /// Tries a message again after a pause, or gives it up after the last attempt.
    func retry(_ parcel: Parcel, _ progress: Parcel.Progress, _ place: String) async {
        let settings = parcel.delivery
        guard progress.attempts < settings.attempts else { return await putAside(parcel, progress, .failed) }
        guard await note(.failed(parcel.number, handled: progress.done)) else { return leave(parcel, progress) }
        let pause = settings.pause(after: progress.attempts, jitter())
        tell(
            .retry(
                messageID: progress.message.id, route: place, attempt: progress.attempts, pause: pause,
                cause: progress.cause ?? "unknown"))
        schedule(parcel, progress, after: pause)
    }

    /// Puts a message among the dead letters; where there is no room it stays, and is put there later.
    func putAside(_ parcel: Parcel, _ progress: Parcel.Progress, _ reason: DeadLetter.Reason) async {
        let outcome = receiver.deadLetter(
            progress.message, reason, receiver.openRoutes(of: progress),
            attempts: progress.attempts, cause: progress.cause)
        guard case .failed(let failure) = outcome else {
            let end: Outcome = reason == .quarantined ? .quarantined : outcome
            return await self.end(parcel, receiver.settle(progress.message, end, progress.passed ?? 0).outcome)
        }
        tell(.storeFailed("a message could not be put among the dead letters: \(failure.error)"))
        guard inbox.isDurable else {
            // Its transport still has it, and is told to bring it again.
            return await end(parcel, receiver.settle(progress.message, outcome, progress.passed ?? 0).outcome)
        }
        var progress = progress
        progress.isGivenUp = reason
        schedule(parcel, progress, after: parcel.delivery.maxBackoff)
    }

    /// Ends a parcel: it goes out of the inbox, its lane goes on, and its transport is told.
    ///
    /// What is held of it for other routes keeps it in a durable inbox until that has ended too.
    func end(
        _ parcel: Parcel, _ outcome: Outcome, _ remainder: HeldMessage? = nil, _ progress: Parcel.Progress? = nil
    ) async {
        if let remainder, let progress, inbox.isDurable,
            await note(.failed(parcel.number, handled: progress.done))
        {
            parcel.receipt.finish(outcome)
            return park(parcel, remainder)
        }
        guard await note(.ended(parcel.number)) else {
            return leave(parcel, nil)
        }
        parcel.receipt.finish(outcome)
        state.withLock { state in
            state.lanes.release(parcel)
            if state.phase == .stopping { state.report.finished += 1 }
        }
        free(1, parcel.bytes)
    }

    /// Takes something down in the inbox; tries again until it is written, or false when the service has stopped.
    func note(_ note: InboxNote) async -> Bool {
        guard inbox.isDurable else { return true }
        var pause = Duration.milliseconds(100)
        while true {
            do {
                try await inbox.note(note)
                return true
            } catch {
                tell(.storeFailed("the inbox could not take down what became of a message: \(error)"))
            }
            if state.withLock({ $0.phase == .stopped }) { return false }
            do { try await clock.sleep(until: clock.now.advanced(by: pause)) } catch { return false }
            pause = min(pause * 2, .seconds(10))
        }
    }
}

/// A handler did not return after its time was over.
struct HandlerOverrun: Error {}

extension DeliverySettings {
    /// How long to wait after an attempt.
    ///
    /// - Parameters:
    ///   - attempt: which attempt failed, from 1 on.
    ///   - jitter: from -1 to 1; a fifth of it counts.
    /// - Returns: the pause.
    func pause(after attempt: Int, _ jitter: Double) -> Duration {
        var pause = backoff
        for _ in 1..<max(attempt, 1) where pause < maxBackoff { pause = pause * 2 }
        return min(pause, maxBackoff) * (1 + 0.2 * min(max(jitter, -1), 1))
    }
}
