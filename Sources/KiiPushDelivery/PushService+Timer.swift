// The timer: attempts that are due, handlers whose time is over, dead letters that are tried again.

import KiiPush

extension PushService {
    /// Does what is due, and sleeps until something is, until the service has stopped.
    func runTimer() async {
        while true {
            let now = clock.now
            let due = change { state in
                let due = state.takeDue(now)
                // Those that go on without a handler have given up its place.
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
            let sleep: Task<Void, Never>? = change { state in
                guard state.phase != .stopped else { return nil }
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
    /// What the timer does.
    fileprivate struct Due: Sendable {
        /// The handlers that are to return, and those that did not and that the service goes on without.
        var late: [HandlerRun] = []
        var left: [HandlerRun] = []
        /// Whether what was put off may find room among the dead letters.
        var storesAgain = false
    }

    /// Takes out what is due; puts those that are tried again before the others of their lanes.
    fileprivate mutating func takeDue(_ now: MonotonicInstant) -> Due {
        var due = Due()
        let graceEnd = now.advanced(by: settings.grace)
        for (number, run) in runs {
            switch run.stage {
            case .running(let task, let until) where until <= now:
                due.late.append(run)
                runs[number]?.stage = .cancelled(task, until: graceEnd)
            case .cancelled(_, let until) where until <= now:
                due.left.append(run)
                _ = endRun(number)
                overrunning += 1
            default: break
            }
        }
        guard isRunning else { return due }
        while let first = retries.first, first.due <= now {
            retries.removeFirst()
            lanes.putFirst(first.delivery)
        }
        if let again = storeAgainAt, again <= now { (storeAgainAt, due.storesAgain) = (nil, true) }
        return due
    }
}
