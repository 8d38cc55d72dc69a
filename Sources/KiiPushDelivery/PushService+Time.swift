// The timer: attempts that are due, handlers whose time is over, held messages whose turn it is.

import KiiPush
import Synchronization

extension PushService {
    // MARK: Handlers

    /// Takes down that a handler runs, until when it may, and who waits for it; nil when it may not begin any more.
    func begin(
        _ messageID: UInt64, _ route: String, _ timeout: Duration, _ waiter: CheckedContinuation<HandlerRun.End, Never>
    ) -> HandlerRun? {
        let deadline = clock.now.advanced(by: timeout)
        let run: HandlerRun? = state.withLock { state in
            guard !state.isCancelling, state.phase != .stopped else { return nil }
            state.lastRun += 1
            let run = HandlerRun(state.lastRun, messageID, route, waiter)
            state.runs[run.number] = (run, deadline)
            return run
        }
        if run != nil { wakeTimer(by: deadline) }
        return run
    }

    /// Takes down that a handler has returned, be it after its time.
    func ended(_ run: HandlerRun, _ outcome: Outcome) {
        state.withLock { state in
            if state.runs.removeValue(forKey: run.number) == nil { state.overrunning -= 1 }
        }
        run.finish(.returned(outcome))
    }

    /// Cancels the handlers whose time is over; goes on without those that did not return after that either.
    private func endOverruns(_ now: MonotonicInstant) {
        var (late, left): ([HandlerRun], [HandlerRun]) = ([], [])
        state.withLock { state in
            for (number, entry) in state.runs where entry.deadline <= now {
                if entry.run.isCancelled {
                    left.append(entry.run)
                    state.runs[number] = nil
                    state.overrunning += 1
                } else {
                    late.append(entry.run)
                    state.runs[number]?.deadline = now.advanced(by: settings.grace)
                }
            }
        }
        for run in late {
            tell(.overrun(messageID: run.messageID, route: run.route, isLeft: false))
            run.cancel()
        }
        for run in left {
            tell(.overrun(messageID: run.messageID, route: run.route, isLeft: true))
            run.finish(.left)
        }
    }

    /// Cancels all handlers that run, since the service has to stop.
    func cancelRuns() {
        let end = clock.now.advanced(by: settings.grace)
        let runs = state.withLock { state in
            state.isCancelling = true
            for number in state.runs.keys { state.runs[number]?.deadline = end }
            return state.runs.values.map(\.run)
        }
        for run in runs { run.cancel() }
        wakeTimer(by: end)
    }

    // MARK: Timer

    /// Does what is due, and sleeps until something is, until the service has stopped.
    func runTimer() async {
        while true {
            let now = clock.now
            endOverruns(now)
            putBackDue(now)
            storeAgain(now)
            startWork()
            let sleep: Task<Void, Never>? = state.withLock { state in
                guard state.phase != .stopped else { return nil }
                let next = state.nextDue ?? now.advanced(by: .seconds(3600))
                let clock = clock
                let task = start { _ = try? await clock.sleep(until: next) }
                state.sleep = (next, task)
                return task
            }
            guard let sleep else { return }
            await sleep.value
        }
    }

    /// Wakes the timer when it would sleep too long.
    func wakeTimer(by instant: MonotonicInstant) {
        state.withLock { state in
            guard let sleep = state.sleep, sleep.until > instant else { return }
            sleep.task.cancel()
        }
    }

    /// Puts those that are tried again before the others of their lanes.
    private func putBackDue(_ now: MonotonicInstant) {
        state.withLock { state in
            guard state.isRunning else { return }
            let due = state.retries.prefix { $0.due <= now }
            state.retries.removeFirst(due.count)
            for (_, parcel) in due { state.lanes.putFirst(parcel) }
        }
    }

    // MARK: Held messages

    /// Lets held messages go when their turn comes, one after another, until the service stops.
    func runHeld() async {
        while state.withLock({ $0.isRunning }) {
            let now = clock.now
            var latest = now.advanced(by: .seconds(1))
            receiver.loopGuard?.tellStoreAgain()
            if let failure = receiver.loopGuard?.takeStoreFailure() {
                tell(.storeFailed("the loop guard's breakers could not be kept: \(failure)"))
            }
            if let due = receiver.loopGuard?.nextDue {
                if due <= now, mayLetGo { receiver.giveTurns() }
                if due > now { latest = min(due, latest) }
            }
            do { try await clock.sleep(until: latest) } catch { return }
        }
    }

    /// Whether a held message may have its turn: the service is open, and nothing is handled that must be alone.
    var mayLetGo: Bool {
        state.withLock { $0.phase == .open && !$0.isAlone && $0.nextAlone == nil }
    }
}

extension ServiceState {
    /// When the timer has to look again.
    fileprivate var nextDue: MonotonicInstant? {
        let ends = runs.values.lazy.map(\.deadline).min()
        // What stops tries nothing again.
        guard isRunning else { return ends }
        return [ends, retries.first?.due, storeAgainAt].compactMap(\.self).min()
    }
}
