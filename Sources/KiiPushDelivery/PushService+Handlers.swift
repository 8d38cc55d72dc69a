// Runs handlers: a bounded number at once, each within its timeout.

import KiiPush

/// One run of one handler, which ends when the handler returns, or when the service continues without it.
struct HandlerRun: Sendable {
    let message: RoutedMessage
    let route: Route
    let timeout: Duration
    /// The shared place that it takes, after a write that took this time; nil beside the shared places, at once.
    let place: (keys: ShareKeys, write: Duration)?
    /// When it began to wait for its place.
    let since: MonotonicInstant
    let waiter: CheckedContinuation<Outcome, Never>
    /// The handler's task; nil while it waits.
    var task: Task<Void, Never>?
    /// The time by which it must end or, once it was cancelled, return; nil while it waits.
    var deadline: MonotonicInstant?
    /// Whether the handler was asked to return.
    var isCancelled = false

    /// Ends the run without the handler, as a failure.
    func end(_ error: any Error) { waiter.resume(returning: .failure(of: route.id, error)) }
}

extension PushService {
    /// Runs one handler within its timeout, when it has a place.
    func run(
        _ route: Route, of message: RoutedMessage, _ timeout: Duration, _ place: (keys: ShareKeys, write: Duration)?
    ) async -> Outcome {
        let now = clock.now
        return await withCheckedContinuation { waiter in
            let run = HandlerRun(
                message: message, route: route, timeout: timeout, place: place, since: now, waiter: waiter)
            let mayBegin = change { state in
                guard state.phase < .cancelling else { return false }
                state.lastRun += 1
                // Runs beside the shared places begin at once, and so before the others.
                let index = place == nil ? 0 : state.waitingRuns.count
                state.waitingRuns.insert((state.lastRun, place?.keys), at: index)
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
                // A busy executor may begin it only when its time is over, or the service has stopped without it.
                returned(
                    number,
                    Task.isCancelled
                        ? .failure(of: run.route.id, HandlerOverrun())
                        : await receiver.call(run.route, run.message, maxAge: maxAge))
            }
            let deadline = now.advanced(by: run.timeout)
            state.runs[number]?.task = task
            state.runs[number]?.deadline = deadline
            state.wakeTimer(by: deadline)
        }
    }

    /// Called when a handler has returned, perhaps after the service continued without it.
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

    /// Cancels all running handlers and begins no other one, because the service has to stop.
    func cancelRuns() {
        let end = clock.now.advanced(by: settings.grace)
        let runs = change { state in
            state.phase = max(state.phase, .cancelling)
            let runs = state.runs
            for (number, run) in runs where run.task != nil { state.cancelRun(number, until: end) }
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
        // Most of many waiting runs are of one route, which is checked only once.
        var (fullRoute, fullGroup): (ResourceKey?, ResourceKey?)
        for (index, waiting) in waitingRuns.enumerated() {
            if let keys = waiting.keys {
                guard running.count < running.most else { return nil }
                if keys.route == fullRoute || keys.group == fullGroup { continue }
                guard running.mayTake(.route(keys.route)) else {
                    fullRoute = keys.route
                    continue
                }
                guard running.mayTake(.group(keys.group)) else {
                    fullGroup = keys.group
                    continue
                }
                running.begin(keys)
            }
            waitingRuns.remove(at: index)
            guard let run = runs[waiting.number] else { return nil }
            if let place = run.place { tuneAhead(waited: run.since.duration(to: now), place.write) }
            return (waiting.number, run)
        }
        return nil
    }

    /// Begins one message more ahead of its place if the last one waited for it no longer than for a few writes; halves
    /// the number if it waited longer, because a message that is begun too early only waits, and is in flight at a
    /// crash.
    ///
    /// If only one handler runs at once, no message is begun ahead.
    private mutating func tuneAhead(waited: Duration, _ write: Duration) {
        guard room.isDurable, running.most > 1 else { return }
        ahead = waited <= write * 4 ? min(ahead + 1, max(settings.inFlight - running.most, 0)) : ahead / 2
    }

    /// Records that a handler is asked to return by `end`.
    mutating func cancelRun(_ number: UInt64, until end: MonotonicInstant) {
        runs[number]?.isCancelled = true
        runs[number]?.deadline = end
    }

    /// Removes a run that has ended, and frees its place; nil if the service continued without it.
    mutating func endRun(_ number: UInt64) -> HandlerRun? {
        guard let run = runs.removeValue(forKey: number) else { return nil }
        if let keys = run.place?.keys { running.end(keys) }
        return run
    }
}

/// A handler did not return after its timeout.
struct HandlerOverrun: Error {}
