// Runs handlers: a bounded number at once, each within its timeout, which the timer ends.

public import KiiPush

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

    /// Handles a dead letter once more, and removes it from the store if it is handled.
    ///
    /// Like `PushReceiver.replay(_:)`, once, but handlers have their usual timeout: a late one is cancelled, and left
    /// behind if it does not return. A stopping service waits for it as for any handler. No handler runs, and the
    /// outcome is `failed` at the place `deadLetters`, if the store no longer has the dead letter, if another call is
    /// replaying it, before ``run()``, and once the service stops.
    ///
    /// - Parameter letter: a dead letter of the receiver's store.
    /// - Returns: its outcome; after any but `handled`, and if others were merged into it, it stays in the store.
    @discardableResult
    public func replay(_ letter: DeadLetter) async -> Outcome {
        let (standard, refusal) = change { ($0.delivery, $0.beginReplay(letter.id)) }
        func refused(_ error: any Error) -> Outcome { .failure(of: "deadLetters", isStage: true, error) }
        if let refusal { return refused(refusal) }
        defer { change { $0.endReplay(letter.id) } }
        do {
            guard try receiver.deadLetters.contains(letter.id) else { return refused(ReplayRefused.gone) }
        } catch { return refused(error) }
        return await receiver.replay(letter) { route, message in
            let settings = route.options.delivery ?? message.routes.first?.options.delivery ?? standard
            return await self.run(route, of: message, settings.timeout, nil)
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
        guard let run else { return }
        // What it throws when it is cancelled hides that its time was over, unless the error reports itself.
        if run.isCancelled, case .failed(let failure) = outcome, !failure.isShortage,
            !(failure.error is any ReportedError)
        {
            return run.end(HandlerOverrun())
        }
        run.waiter.resume(returning: outcome)
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

    // MARK: The timer

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
    /// the number if it waited longer: a message that is begun too early only waits, and is in flight at a crash.
    private mutating func tuneAhead(waited: Duration, _ write: Duration) {
        guard room.isDurable, running.most > 1 else { return }
        ahead = waited <= write * 4 ? min(ahead + 1, max(settings.inFlight - running.most, 0)) : ahead / 2
    }

    /// Begins a replay, which the end of the service waits for; returns why it may not begin.
    fileprivate mutating func beginReplay(_ id: UInt64) -> ReplayRefused? {
        // Before it runs, nothing would end a handler whose time is over.
        guard phase != .new else { return .notRunning }
        guard phase < .stopping else { return .stopping }
        guard replayed.insert(id).inserted else { return .isRunning }
        ending += 1
        return nil
    }

    fileprivate mutating func endReplay(_ id: UInt64) {
        replayed.remove(id)
        ending -= 1
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

    /// Wakes the messages that are due, and takes the other due actions: the handlers to be cancelled, and those that
    /// did not return and are left behind; whether to store postponed dead letters, and to report merged ones.
    fileprivate mutating func takeDue(
        _ now: MonotonicInstant
    ) -> (late: [HandlerRun], left: [HandlerRun], storesAgain: Bool, reportsMerged: Bool) {
        var due = (late: [HandlerRun](), left: [HandlerRun](), storesAgain: false, reportsMerged: false)
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

/// Why a dead letter is not replayed.
package enum ReplayRefused: Error, CustomStringConvertible {
    /// It was removed since it was read.
    case gone
    case isRunning
    /// The service does not run yet.
    case notRunning
    case stopping

    /// The reason in words.
    package var description: String {
        switch self {
        case .gone: "it was handled or dropped meanwhile"
        case .isRunning: "another replay of it is running"
        case .notRunning: "the service does not run yet"
        case .stopping: "the service is stopping"
        }
    }
}

/// A handler was cancelled when its time was over, and did not succeed.
struct HandlerOverrun: Error {}
