// Running handlers: so many at once, each for as long as it may take.

import KiiPush

/// One run of one handler, which ends when the handler returns, or when the service goes on without it.
struct HandlerRun: Sendable {
    /// Where it runs.
    enum Place: Sendable {
        /// In one of the places that all share, after a write that took so long.
        case shared(ShareKeys, write: Duration)
        /// Beside them, at once.
        case beside

        var keys: ShareKeys? { if case .shared(let keys, _) = self { keys } else { nil } }
    }

    enum Stage: Sendable {
        case waiting(since: MonotonicInstant)
        case running(Task<Void, Never>, until: MonotonicInstant)
        /// The handler was asked to return.
        case cancelled(Task<Void, Never>, until: MonotonicInstant)
    }

    let message: RoutedMessage
    let route: Route
    let timeout: Duration
    let place: Place
    let waiter: CheckedContinuation<Outcome, Never>
    var stage: Stage

    var task: Task<Void, Never>? {
        switch stage {
        case .waiting: nil
        case .running(let task, _), .cancelled(let task, _): task
        }
    }

    /// Goes on without the handler, which has failed as far as its message goes.
    func end(_ error: any Error) {
        waiter.resume(
            returning: .failed(
                Outcome.Failure(place: route.id, isStage: false, error: error, handled: MatchedRoutes())))
    }

    /// Until when it may run or, once it was asked to return, until when it may take to do so.
    var deadline: MonotonicInstant? {
        switch stage {
        case .waiting: nil
        case .running(_, let until), .cancelled(_, let until): until
        }
    }
}

extension PushService {
    /// Runs one handler, for as long as it may take, once there is a place for it.
    func run(
        _ route: Route, of message: RoutedMessage, _ timeout: Duration, _ place: HandlerRun.Place
    ) async -> Outcome {
        let now = clock.now
        return await withCheckedContinuation { waiter in
            let run = HandlerRun(
                message: message, route: route, timeout: timeout, place: place, waiter: waiter,
                stage: .waiting(since: now))
            let mayBegin = change { state in
                guard state.phase < .cancelling else { return false }
                state.lastRun += 1
                // Those beside the others begin at once, and so before them.
                let index = place.keys == nil ? 0 : state.waitingRuns.count
                state.waitingRuns.insert((state.lastRun, place.keys), at: index)
                state.runs[state.lastRun] = run
                beginRuns(&state, now)
                return true
            }
            if !mayBegin { run.end(ServiceStopped()) }
        }
    }

    /// Begins the runs that have a place.
    func beginRuns(_ state: inout ServiceState, _ now: MonotonicInstant) {
        while let (number, run) = state.nextRun(now) {
            let maxAge = state.delivery.maxAge
            let task = start { [self] in
                returned(number, await receiver.call(run.route, run.message, maxAge: maxAge))
            }
            let deadline = now.advanced(by: run.timeout)
            state.runs[number]?.stage = .running(task, until: deadline)
            state.wakeTimer(by: deadline)
        }
    }

    /// A handler has returned, be it after the service went on without it.
    private func returned(_ number: UInt64, _ outcome: Outcome) {
        let now = clock.now
        let run = change { state in
            let run = state.endRun(number)
            if run == nil { state.overrunning -= 1 }
            beginRuns(&state, now)
            return run
        }
        run?.waiter.resume(returning: outcome)
    }

    /// Cancels all handlers that run and begins no other one, since the service has to stop.
    func cancelRuns() {
        let end = clock.now.advanced(by: settings.grace)
        let runs = change { state in
            state.phase = max(state.phase, .cancelling)
            let runs = state.runs
            for (number, run) in runs {
                if let task = run.task { state.runs[number]?.stage = .cancelled(task, until: end) }
            }
            for waiting in state.waitingRuns { state.runs[waiting.number] = nil }
            state.waitingRuns = []
            state.wakeTimer(by: end)
            return runs.values
        }
        for run in runs {
            if let task = run.task { task.cancel() } else { run.end(ServiceStopped()) }
        }
    }
}

extension ServiceState {
    /// Takes the first run that has a place; it counts as running from now on.
    fileprivate mutating func nextRun(_ now: MonotonicInstant) -> (UInt64, HandlerRun)? {
        // Of many that wait most are of one route: it is asked for once.
        var (fullRoute, fullGroup): (ResourceKey?, ResourceKey?)
        for (index, waiting) in waitingRuns.enumerated() {
            if let keys = waiting.keys {
                guard running.count < running.most else { return nil }
                if keys.route == fullRoute || keys.group == fullGroup { continue }
                guard running.mayTake(route: keys.route) else {
                    fullRoute = keys.route
                    continue
                }
                guard running.mayTake(group: keys.group) else {
                    fullGroup = keys.group
                    continue
                }
                running.begin(keys)
            }
            waitingRuns.remove(at: index)
            guard let run = runs[waiting.number] else { return nil }
            if case .shared(_, let write) = run.place, case .waiting(let since) = run.stage {
                tuneAhead(waited: since.duration(to: now), write)
            }
            return (waiting.number, run)
        }
        return nil
    }

    /// Begins one message more ahead of its place when the last one has waited for it no longer than for a few writes,
    /// and half as many when it has waited longer: what is begun too early only waits, and is in flight at a crash.
    ///
    /// Where one handler runs at once, messages are handled strictly one after another.
    private mutating func tuneAhead(waited: Duration, _ write: Duration) {
        guard isDurable, running.most > 1 else { return }
        ahead = waited <= write * 4 ? min(ahead + 1, max(settings.inFlight - running.most, 0)) : ahead / 2
    }

    /// Takes out a run that has ended, and gives up its place; nil when the service went on without it.
    mutating func endRun(_ number: UInt64) -> HandlerRun? {
        guard let run = runs.removeValue(forKey: number) else { return nil }
        if let keys = run.place.keys { running.end(keys) }
        return run
    }
}

/// A handler did not return after its time was over.
struct HandlerOverrun: Error {}
