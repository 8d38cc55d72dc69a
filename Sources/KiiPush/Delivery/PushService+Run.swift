// From the first payload that an earlier process left to the report at the end.

import Synchronization

extension PushService {
    /// Takes payloads in and delivers them, until the task is cancelled or the transports have no more.
    ///
    /// First it handles what an earlier process left in the inbox; what was in flight when that ended, one at a time.
    /// Then it takes new payloads in. When all transports have returned, it goes on until all messages have ended, but for
    /// those that the loop guard holds. When the task is cancelled, or a transport throws, it takes nothing more in, lets
    /// the handlers that run finish for as long as ``ServiceSettings/drain`` says, then cancels them, and leaves the rest:
    /// in a durable inbox for the next process, else for their transports, whose receipts end with nil.
    ///
    /// - Returns: what became of the messages at the end.
    /// - Throws: what a transport threw, or the inbox when it could not be read; ``ServiceUsed`` for a second call. Not
    ///   when it was cancelled.
    @discardableResult
    public func run() async throws -> DrainReport {
        let isNew = state.withLock { state in
            defer { if state.phase == .new { state.phase = .recovering } }
            return state.phase == .new
        }
        guard isNew else { throw ServiceUsed() }
        let timer = Task { await runTimer() }
        let held = Task { await runHeld() }
        var failure: (any Error)?
        await withTaskCancellationHandler {
            do {
                try await recover()
                try await bringPayloads()
                await idle()
            } catch {
                failure = error
            }
        } onCancel: {
            self.stopIntake()
        }
        stopIntake()
        await quiet()
        held.cancel()
        let report = leaveAll()
        wakeTimer(by: MonotonicInstant(nanoseconds: .min))
        await timer.value
        if let failure, !(failure is CancellationError) { throw failure }
        return report
    }

    // MARK: Beginning

    /// Handles what an earlier process left: what may have ended it first, alone.
    private func recover() async throws {
        var (others, guilty): ([Parcel], Set<UInt64>) = ([], [])
        for entry in try inbox.entries() {
            guard let parcel = await parcel(entry) else { continue }
            if entry.crashes > 1, entry.crashedAlone { guilty.insert(entry.id) }
            if entry.crashes > 0 { queue([parcel]) } else { others.append(parcel) }
        }
        while let parcel = state.withLock({ $0.phase == .recovering ? $0.lanes.next() : nil }) {
            state.withLock { $0.handling += 1 }
            if guilty.contains(parcel.number) { await quarantine(parcel) } else { await deliver(parcel) }
            state.withLock { $0.handling -= 1 }
        }
        state.withLock { state in
            if state.phase == .recovering { state.phase = .open }
        }
        queue(others)
    }

    /// A parcel of what an earlier process left; nil for what is no message for this one, which is put aside.
    private func parcel(_ entry: InboxEntry) async -> Parcel? {
        state.withLock { state in
            state.messages += 1
            state.bytes += entry.payload.bytes.count
        }
        let message: PushMessage
        do throws(DecodeError) {
            message = try PushMessage(entry.payload, limits: receiver.limits)
        } catch {
            // The limits were larger then.
            await endUndecodable(entry, error)
            return nil
        }
        let parcel = parcel(
            entry.id, receiver.prepare(message), Receipt(isStored: inbox.isDurable))
        parcel.progress.attempts = entry.attempts
        parcel.progress.done = entry.handled
        return parcel
    }

    private func endUndecodable(_ entry: InboxEntry, _ error: DecodeError) async {
        reject(entry.payload, error, Receipt(isStored: inbox.isDurable))
        _ = await note(.ended(entry.id))
        free(1, entry.payload.bytes.count)
    }

    private func quarantine(_ parcel: Parcel) async {
        var progress = parcel.progress
        receiver.refresh(&progress.message)
        var passed = 0
        // For the deduplicator, that its copies are known; whatever else the chain says, it is not run.
        _ = receiver.admit(&progress.message, passed: &passed)
        progress.passed = passed
        await putAside(parcel, progress, .quarantined)
    }

    private func bringPayloads() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for transport in transports {
                let intake = PushIntake(service: self, transport: transport.name)
                group.addTask { try await transport.run(intake) }
            }
            do { try await group.waitForAll() } catch {
                stopIntake()
                group.cancelAll()
                throw error
            }
        }
    }

    // MARK: Ending

    /// Takes nothing more in and begins nothing more; after the time to drain, cancels what runs.
    private func stopIntake() {
        let waiters: ([CheckedContinuation<Void, Never>], [@Sendable () -> Void])? = state.withLock { state in
            guard state.phase == .open || state.phase == .recovering else { return nil }
            state.phase = .stopping
            return state.takeRoomWaiters()
        }
        guard let waiters else { return }
        for task in waiters.0 { task.resume() }
        for action in waiters.1 { action() }
        wakeIdle()
        Task {
            let end = clock.now.advanced(by: settings.drain)
            _ = try? await clock.sleep(until: end)
            if state.withLock({ $0.phase }) != .stopping { return }
            cancelRuns()
            // What does not return is left by then, and what waits for a sick inbox is left now.
            _ = try? await clock.sleep(until: end.advanced(by: settings.grace))
            state.withLock { state in
                if state.phase == .stopping { state.phase = .stopped }
            }
            wakeIdle()
        }
    }

    /// Waits until nothing is left to do, or the service stops.
    private func idle() async {
        await withCheckedContinuation { waiter in
            let isNow = state.withLock { state in
                if state.isIdle { return true }
                state.idleWaiters.append(waiter)
                return false
            }
            if isNow { waiter.resume() }
        }
    }

    /// Waits until no handler runs, or there is no more time to wait.
    private func quiet() async {
        await withCheckedContinuation { waiter in
            let isNow = state.withLock { state in
                if state.isQuiet { return true }
                state.quietWaiters.append(waiter)
                return false
            }
            if isNow { waiter.resume() }
        }
    }

    /// Lets those go on who wait for an end of the work.
    func wakeIdle() {
        let waiters = state.withLock { state in
            var waiters: [CheckedContinuation<Void, Never>] = []
            if state.isIdle { swap(&waiters, &state.idleWaiters) }
            if state.isQuiet {
                waiters += state.quietWaiters
                state.quietWaiters = []
            }
            return waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Leaves what has not ended.
    private func leaveAll() -> DrainReport {
        let (waiting, parked, report) = state.withLock { state in
            state.phase = .stopped
            let waiting = state.lanes.removeAll() + state.retries.map(\.parcel)
            let parked = state.parked
            state.report.left = state.messages + parked.count
            (state.retries, state.parked) = ([], [:])
            return (waiting, parked, state.report)
        }
        for parcel in waiting { leave(parcel, parcel.progress) }
        for held in receiver.loopGuard?.removeHeld(where: { parked[$0.id] != nil }) ?? [] { held.abandon() }
        for (parcel, _) in parked.values { parcel.receipt.finish(nil) }
        return report
    }
}

extension ServiceState {
    /// Whether nothing is left to do now; what is held may take an hour.
    fileprivate var isIdle: Bool { messages == 0 || (phase != .open && phase != .recovering) }
    /// Whether nobody does anything, or nobody waits for it any more.
    fileprivate var isQuiet: Bool { handling == 0 || phase == .stopped }
}

/// A service runs once; make another one.
public struct ServiceUsed: Error, CustomStringConvertible {
    /// What to do, in words.
    public var description: String { "a service runs once; make another one" }
}
