// The timer: due attempts, handlers past their timeout, and postponed dead letters.

import KiiPush

extension PushService {
    /// Runs due actions and sleeps until the next one, until the service has stopped and no handler runs.
    func runTimer() async {
        while true {
            let now = clock.now
            let due = change { state in
                let due = state.takeDue(now)
                // Runs that continue without a handler have freed its place.
                beginRuns(&state, now)
                return due
            }
            for run in due.late {
                tell(.overrun(messageID: run.message.id, route: run.route.id, isLeft: false))
                run.task?.cancel()
            }
            for run in due.left {
                tell(.overrun(messageID: run.message.id, route: run.route.id, isLeft: true))
                run.end(HandlerOverrun())
            }
            if due.storesAgain { startEnding { await self.storeNext() } }
            if due.reportsMerged { startEnding { self.reportMergedLetters() } }
            let sleep: Task<Void, Never>? = change { state in
                // Handlers that do not return are left behind, also if the drain time ended late.
                guard state.phase != .stopped || !state.runs.isEmpty else { return nil }
                let next = state.nextDue ?? now.advanced(by: .seconds(3600))
                let task = start { [clock] in _ = try? await clock.sleep(until: next) }
                state.sleep = (next, task)
                return task
            }
            guard let sleep else { return }
            await sleep.value
        }
    }
}

extension ServiceState {
    /// The due actions.
    fileprivate struct Due: Sendable {
        /// The handlers to be cancelled, and those that did not return and are left behind.
        var late: [HandlerRun] = []
        var left: [HandlerRun] = []
        /// Whether to try to store postponed dead letters.
        var storesAgain = false
        /// Whether to open a gap for merged dead letters.
        var reportsMerged = false
    }

    /// Takes the due actions, and wakes the messages that are due.
    fileprivate mutating func takeDue(_ now: MonotonicInstant) -> Due {
        var due = Due()
        let graceEnd = now.advanced(by: settings.grace)
        for (number, run) in runs {
            guard let deadline = run.deadline, deadline <= now else { continue }
            if run.isCancelled {
                due.left.append(run)
                _ = endRun(number)
                overrunning += 1
            } else {
                due.late.append(run)
                cancelRun(number, until: graceEnd)
            }
        }
        guard isRunning else { return due }
        room.wake(now)
        if let again = storeAgainAt, again <= now { (storeAgainAt, due.storesAgain) = (nil, true) }
        if let again = reportedLetters.due, again <= now { (reportedLetters.due, due.reportsMerged) = (nil, true) }
        return due
    }
}
