// Handling what is ready: the chain once, the handlers as often as it takes.

import KiiPush
import Synchronization

extension PushService {
    /// Starts a task for each parcel whose turn it is, as far as there may be more.
    func startWork() {
        while let parcel = state.withLock({ $0.next(settings) }) { start { await self.work(parcel) } }
    }

    /// Delivers a parcel, and then others for as long as their turn comes.
    private func work(_ first: Parcel) async {
        let worker = inbox.isDurable ? Worker() : nil
        var parcel = first
        while true {
            // One that must be alone is not, while the end of another is still to be taken down.
            await deliver(parcel, parcel.wasInFlightAtCrash ? nil : worker)
            guard let next = await next(after: parcel, worker) else { break }
            parcel = next
        }
        wake()
    }

    /// The parcel that a worker delivers next; nil when there is none, and nothing left to be taken down.
    private func next(after parcel: Parcel, _ worker: Worker?) async -> Parcel? {
        let next: Parcel? = state.withLock { state in
            state.leaveOff(parcel)
            if let next = state.next(settings) { return next }
            guard let ended = worker?.ended else { return nil }
            if let next = state.next(behind: ended.parcel, settings) { return next }
            // It counts as handled until its end is on disk.
            state.handling += 1
            return nil
        }
        // Others waited until it was done.
        if parcel.wasInFlightAtCrash { startWork() }
        if let next, !next.wasInFlightAtCrash { return next }
        guard let ended = worker?.take() else { return next }
        await writeDown(ended)
        return next
            ?? state.withLock { state in
                state.handling -= 1
                return state.next(settings)
            }
    }

    /// Delivers a parcel as far as it goes now: to its end, to its next attempt, or to where it waits.
    func deliver(_ parcel: Parcel, _ worker: Worker? = nil) async {
        var progress = parcel.progress
        if let turn = progress.turn { return await take(turn, of: parcel, worker) }
        if case .unasked = progress.chain {
            guard await takeUp(parcel, &progress, worker) else { return }
        } else {
            let killed = receiver.loopGuard?.kills(of: progress.message, progress.remaining).routes ?? []
            progress.killed += killed
            if !killed.isEmpty, progress.remaining.isEmpty {
                await writeDownEnd(of: worker)
                _ = await putAside(parcel, progress, .killSwitch)
                return
            }
        }
        _ = await attempt(parcel, progress, worker)
    }

    // MARK: The chain

    /// Sends a message through the chain; whether its handlers are to run now.
    private func takeUp(_ parcel: Parcel, _ progress: inout Parcel.Progress, _ worker: Worker?) async -> Bool {
        let (next, passed) = judge(&progress)
        if case .handle = next {} else { await writeDownEnd(of: worker) }
        switch next {
        case .handle:
            progress.chain = .passed(passed)
            progress.killed = killedSince(parcel, progress)
            startSuperseding(&progress)
            return true
        case .hold(let breaker):
            startSuperseding(&progress)
            progress.chain = .passed(passed)
            let held = receiver.keep(progress.message, breaker, passed, for: self) { park(parcel, progress, $0) }
            guard held != nil else {
                _ = await putAside(parcel, progress, .holdLimitReached)
                return false
            }
            letLaneGoOn(parcel)
            wake()
        case .end(.failed(let failure)):
            // Undone and not counted: the chain judges it anew, and its end is what counts.
            receiver.chain.settle(progress.message, .failed(failure), passed)
            progress.stageFailures += 1
            await retry(parcel, progress, failure)
        case .wait(let lease):
            putBackReplaced(&progress)
            waitForFirst(parcel, progress, lease, passed)
        case .end(let outcome):
            putBackReplaced(&progress)
            progress.chain = .passed(passed)
            if case .looped(.killSwitch) = outcome, !parcel.killed.isWhole {
                _ = await putAside(parcel, progress, .killSwitch)
            } else {
                _ = await conclude(parcel, progress, outcome)
            }
        }
        return false
    }

    /// Asks the chain about a message.
    private func judge(_ progress: inout Parcel.Progress) -> (next: PushReceiver.Next, passed: Int) {
        receiver.refresh(&progress.message)
        var passed = 0
        let next = receiver.admit(&progress.message, passed: &passed)
        guard case .end(.duplicate(.done)) = next, !progress.done.isEmpty else { return (next, passed) }
        // It was remembered when some of its routes had handled it; the others are still to have it.
        receiver.refresh(&progress.message)
        progress.message.bypass(.seen)
        passed = 0
        return (receiver.admit(&progress.message, passed: &passed), passed)
    }

    /// The routes that were switched off while a message waited that others may handle.
    private func killedSince(_ parcel: Parcel, _ progress: Parcel.Progress) -> [String] {
        guard let loopGuard = receiver.loopGuard, progress.message.stopped != nil else { return [] }
        let matched = receiver.match(progress.message.message)
        return loopGuard.kills(of: progress.message, matched).routes.filter { route in
            !parcel.killed.routes.containsExactly(route) && !progress.isDone(route)
        }
    }

    // MARK: The handlers

    /// Runs the handlers that have not succeeded yet; returns how the message ended, or what failed.
    func attempt(_ parcel: Parcel, _ given: Parcel.Progress, _ worker: Worker? = nil) async -> Outcome? {
        var progress = given
        guard state.withLock({ $0.isRunning }) else { return leave(parcel, progress) }
        progress.attempts += 1
        progress.message.attempt = UInt32(clamping: progress.attempts)
        guard await begin(parcel, attempt: progress.attempts, worker) else { return leave(parcel, progress) }
        var (failure, shortage): (Outcome.Failure?, Outcome.Failure?)
        for route in progress.remaining {
            switch await run(route, parcel, progress) {
            case .handled: progress.done.append(route.id)
            case .looped(let layer):
                progress.done.append(route.id)
                progress.loopEnd = progress.loopEnd ?? layer
            case .expired: progress.expired.append(route.id)
            case .failed(let reason) where reason.error is any ResourceShortage: shortage = shortage ?? reason
            case .failed(let reason): failure = failure ?? reason
            default: break
            }
        }
        if let aside = putAsideKilled(parcel, &progress) { failure = failure ?? aside }
        if failure == nil, let shortage { return await waitForResources(parcel, progress, shortage) }
        guard let failure else {
            return await conclude(parcel, progress, progress.end, worker)
        }
        return await retry(parcel, progress, failure)
    }

    /// Takes down the end of what a worker has handled before, where no beginning takes it along: its lane, which this
    /// parcel may have from it, goes on only then.
    func writeDownEnd(of worker: Worker?) async {
        if let ended = worker?.take() { await writeDown(ended) }
    }

    /// Takes down that handlers are about to run, and with it the end of what the worker has handled before.
    private func begin(_ parcel: Parcel, attempt: Int, _ worker: Worker?) async -> Bool {
        let begun = InboxRecord.begun(parcel.number, attempt: attempt)
        guard let ended = worker?.take() else { return await record(begun) }
        let isRecorded = await record(.ended(ended.parcel.number), begun)
        if isRecorded { finish(ended) } else { leave(ended) }
        return isRecorded
    }

    /// Puts a message aside for the routes that were switched off while it waited; how it failed, if there is no room.
    private func putAsideKilled(_ parcel: Parcel, _ progress: inout Parcel.Progress) -> Outcome.Failure? {
        guard !progress.killed.isEmpty else { return nil }
        let outcome = receiver.deadLetter(
            progress.message, .killSwitch, progress.killed, attempts: progress.attempts, cause: progress.cause,
            inboxID: inboxID(parcel))
        if case .failed(let failure) = outcome { return failure }
        progress.done += progress.killed
        progress.killed = []
        return nil
    }

    private func run(_ route: Route, _ parcel: Parcel, _ progress: Parcel.Progress) async -> Outcome {
        await run(route, of: progress.message, timeout: (route.delivery ?? parcel.delivery).timeout)
    }

    /// Runs one handler, for as long as it may take.
    func run(_ route: Route, of message: RoutedMessage, timeout: Duration) async -> Outcome {
        var message = message
        message.routes = MatchedRoutes([route])
        let (receiver, single, maxAge) = (receiver, message, delivery.withLock { $0.maxAge })
        let end = await withCheckedContinuation { waiter in
            guard let run = begin(single.id, route.id, timeout, waiter) else {
                return waiter.resume(returning: HandlerRun.End.notBegun)
            }
            run.start(
                start {
                    var message = single
                    let outcome = await receiver.handle(&message, maxAge: maxAge)
                    self.ended(run, outcome)
                })
        }
        switch end {
        case .returned(let outcome): return outcome
        case .left: return failed(route, HandlerOverrun())
        case .notBegun: return failed(route, ServiceStopped())
        }
    }

    private func failed(_ route: Route, _ error: any Error) -> Outcome {
        .failed(Outcome.Failure(place: route.id, isStage: false, error: error, handled: MatchedRoutes()))
    }
}

/// A handler did not return after its time was over.
struct HandlerOverrun: Error {}
