// How a message ends, in the chain, in the inbox and for its transport; and what becomes of one that cannot end yet.

import KiiPush
import Synchronization

extension PushService {
    // MARK: Not yet

    /// Tries a message again after a pause, or gives it up after the last attempt.
    ///
    /// - Returns: how it ended, or what failed; nil when the service leaves it.
    @discardableResult
    func retry(_ parcel: Parcel, _ given: Parcel.Progress, _ failure: Outcome.Failure) async -> Outcome? {
        var progress = given
        progress.shortages = 0
        progress.cause = ErrorReport.text(failure.error)
        let tries = progress.attempts + progress.stageFailures
        let isRunning = state.withLock { state in
            if state.isCancelling { state.report.cancelled += 1 }
            return state.isRunning
        }
        guard isRunning else {
            // So that it does not look as if it had ended the process.
            _ = await record(.failed(parcel.number, handled: progress.done))
            return leave(parcel, progress)
        }
        guard tries < parcel.delivery.attempts else {
            putBackReplaced(&progress)
            return await putAside(parcel, progress, .failed)
        }
        guard await record(.failed(parcel.number, handled: progress.done)) else { return leave(parcel, progress) }
        let pause = parcel.delivery.pause(after: tries, jitter())
        tell(
            .retry(
                messageID: progress.message.id, route: failure.place, attempt: tries, pause: pause,
                cause: progress.cause ?? "unknown"))
        schedule(parcel, progress, after: pause)
        return .failed(failure)
    }

    /// Tries a message again whose handlers could not begin, as if they had not been tried.
    ///
    /// - Returns: what is lacking; nil when the service leaves it.
    func waitForResources(
        _ parcel: Parcel, _ given: Parcel.Progress, _ shortage: Outcome.Failure
    ) async -> Outcome? {
        var progress = given
        progress.attempts -= 1
        progress.shortages += 1
        // So that it does not look as if it had ended the process.
        let isRecorded = await record(.failed(parcel.number, handled: progress.done))
        guard isRecorded, state.withLock({ $0.isRunning }) else { return leave(parcel, progress) }
        schedule(parcel, progress, after: DeliverySettings.pause(afterShortages: progress.shortages, jitter()))
        return .failed(shortage)
    }

    /// Puts a message among the dead letters, for all routes that have not handled it.
    ///
    /// Where there is no room, one in a durable inbox stays there, without a place, and is put aside later. Of any other,
    /// the transport is told to bring it again.
    func putAside(_ parcel: Parcel, _ progress: Parcel.Progress, _ reason: DeadLetter.Reason) async -> Outcome? {
        let outcome = receiver.deadLetter(
            progress.message, reason, receiver.openRoutes(of: progress),
            attempts: progress.attempts, cause: progress.cause, inboxID: inboxID(parcel))
        guard case .failed(let failure) = outcome else {
            return await conclude(parcel, progress, reason == .quarantined ? .quarantined : outcome)
        }
        tell(.storeFailed("a message could not be put among the dead letters: \(failure.error)"))
        guard inbox.isDurable else { return await conclude(parcel, progress, outcome) }
        // Nothing runs any more that could end the process.
        if progress.attempts > 0 {
            guard await record(.failed(parcel.number, handled: progress.done)) else { return leave(parcel, progress) }
        }
        putOff(parcel, progress, reason)
        return outcome
    }

    /// What a letter names its payload by, so that it can be written together with that one's end.
    func inboxID(_ parcel: Parcel) -> UInt64? { inbox.isDurable ? parcel.number : nil }

    // MARK: The end

    /// Ends a message: for the chain, and with what is held of it for other routes kept.
    ///
    /// A `worker` takes its end down with what it does next, instead of waiting for it here.
    func conclude(
        _ parcel: Parcel, _ progress: Parcel.Progress, _ given: Outcome, _ worker: Worker? = nil
    ) async -> Outcome? {
        var outcome = given
        guard progress.message.hasHeld, outcome.leavesRemainder else {
            settle(progress, outcome)
            let ended = EndedParcel(parcel: parcel, held: progress.held, outcome: outcome, told: progress.told)
            if let worker { worker.keep(ended) } else { await writeDown(ended) }
            return outcome
        }
        // Before the chain is told: after a crash the seen store may know the message, and only the inbox what is left.
        guard await record(.failed(parcel.number, handled: progress.done)) else { return leave(parcel, progress) }
        var told = progress
        told.chain = .told
        told.told = progress.told ?? outcome
        let (end, remainder) = receiver.holdRemainder(
            progress.message, outcome, for: self, inboxID: inboxID(parcel)
        ) { held in
            settle(progress, outcome)
            park(parcel, told, held)
        }
        if remainder != nil {
            letLaneGoOn(parcel)
            if parcel.receipt.isStored { parcel.receipt.finish(told.told) }
            wake()
            return outcome
        }
        outcome = end
        if case .failed(let failure) = outcome, inbox.isDurable {
            return await retry(parcel, progress, failure)
        }
        settle(progress, outcome)
        await writeDown(EndedParcel(parcel: parcel, held: progress.held, outcome: outcome, told: progress.told))
        return outcome
    }

    /// Tells the stages how a message ended, counts and reports it.
    private func settle(_ progress: Parcel.Progress, _ outcome: Outcome) {
        let message = progress.message
        switch progress.chain {
        case .unasked: receiver.conclude(message, outcome, 0)
        case .passed(let passed): receiver.conclude(message, outcome, passed)
        case .told:
            receiver.loopGuard?.settle(message, outcome)
            message.recorder?.finish(message, outcome)
        }
    }

    /// Takes down that a parcel has ended, which the chain has been told of: it goes out of the inbox.
    func writeDown(_ ended: EndedParcel) async {
        if await record(.ended(ended.parcel.number)) { finish(ended) } else { leave(ended) }
    }

    /// Ends a parcel that is gone from the inbox: its lane goes on, its room is free, its transport is told.
    func finish(_ ended: EndedParcel) {
        let parcel = ended.parcel
        let wake = state.withLock { state in
            state.lanes.release(parcel)
            if !state.isRunning { state.report.finished += 1 }
            state.vacate(parcel)
            return state.takeWoken(settings)
        }
        ended.held?.finish(ended.outcome)
        parcel.receipt.finish(ended.told ?? ended.outcome)
        wake()
    }

    /// Leaves a parcel in the inbox that has ended, since that could not be taken down before the service stopped.
    func leave(_ ended: EndedParcel) {
        ended.held?.finish(ended.outcome)
        ended.parcel.receipt.finish(nil)
    }

    // MARK: Replaced

    /// Ends the messages that a newer one of their object replaces, now that it is handled.
    func startSuperseding(_ progress: inout Parcel.Progress) {
        for parcel in progress.replaced { startEnding { await self.supersede(parcel) } }
        progress.replaced = []
    }

    /// Gives the messages their turn that a newer one should have replaced, which is not handled itself.
    func putBackReplaced(_ progress: inout Parcel.Progress) {
        guard !progress.replaced.isEmpty else { return }
        let replaced = progress.replaced
        progress.replaced = []
        state.withLock { state in
            for parcel in replaced.reversed() { state.lanes.putFirst(parcel) }
        }
    }

    /// Ends a message that a newer one has replaced; the chain has to know, or its copy would be new.
    private func supersede(_ parcel: Parcel) async {
        var progress = parcel.progress
        receiver.refresh(&progress.message)
        var passed = 0
        var outcome = Outcome.superseded
        switch receiver.admit(&progress.message, passed: &passed) {
        case .handle, .hold, .wait, .end(.failed): break
        case .end(let end): outcome = end
        }
        progress.chain = .passed(passed)
        _ = await conclude(parcel, progress, outcome)
    }

    /// Does what ends a parcel in a task of its own, for which the service waits before it stops.
    func startEnding(_ body: @escaping @Sendable () async -> Void) {
        state.withLock { $0.ending += 1 }
        start { [self] in
            await body()
            let wake = state.withLock { state in
                state.ending -= 1
                return state.takeWoken(settings)
            }
            wake()
        }
    }

    // MARK: Leaving

    /// Leaves a message that has not ended, since the service stops; the chain forgets that it came.
    @discardableResult
    func leave(_ parcel: Parcel, _ progress: Parcel.Progress) -> Outcome? {
        forget(progress)
        parcel.receipt.finish(nil)
        for replaced in progress.replaced { replaced.receipt.finish(nil) }
        return nil
    }

    /// Has the chain forget a message that came and has not ended.
    func forget(_ progress: Parcel.Progress) {
        let failure = Outcome.Failure(
            place: "service", isStage: true, error: ServiceStopped(), handled: progress.succeeded)
        switch progress.chain {
        case .unasked: break
        case .passed(let passed): receiver.chain.settle(progress.message, .failed(failure), passed)
        case .told: receiver.loopGuard?.settle(progress.message, .failed(failure))
        }
        progress.held?.finish(.failed(failure))
    }

    // MARK: The inbox

    /// Takes something down in the inbox; tries again until it is written, or false when the service has stopped.
    func record(_ records: InboxRecord...) async -> Bool { await record(records) }

    /// Takes things down in the inbox, all in one step; tries again as for one.
    func record(_ records: [InboxRecord]) async -> Bool {
        guard inbox.isDurable, !records.isEmpty else { return true }
        do {
            try await inbox.record(records)
            return true
        } catch {
            return await recordAgain(records, error)
        }
    }

    private func recordAgain(_ records: [InboxRecord], _ first: any Error) async -> Bool {
        var (error, length) = (first, Duration.milliseconds(100))
        while true {
            tell(.storeFailed("the inbox could not take down what became of a message: \(error)"))
            guard await pause(length) else { return false }
            do {
                try await inbox.record(records)
                return true
            } catch let next { error = next }
            length = min(length * 2, .seconds(10))
        }
    }

    /// Waits; false when the service has stopped.
    func pause(_ length: Duration) async -> Bool {
        let (clock, end) = (clock, clock.now.advanced(by: length))
        let pause: (number: UInt64, task: Task<Void, Never>)? = state.withLock { state in
            guard state.phase != .stopped else { return nil }
            state.lastPause += 1
            let task = start { _ = try? await clock.sleep(until: end) }
            state.pauses[state.lastPause] = task
            return (state.lastPause, task)
        }
        guard let pause else { return false }
        await pause.task.value
        return state.withLock { state in
            state.pauses[pause.number] = nil
            return state.phase != .stopped
        }
    }
}

/// A message was left by a service that stopped; a durable inbox has it for the next one.
struct ServiceStopped: Error {}
