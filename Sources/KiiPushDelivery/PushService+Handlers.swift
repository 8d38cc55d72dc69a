// Runs handlers: a bounded number at once, each within its timeout, which the timer ends.

public import KiiPush
import Synchronization

/// One run of one handler, which ends when the handler returns, or when the service continues without it.
struct HandlerRun: Sendable {
    let message: RoutedMessage
    let route: Route
    /// The shared place that it takes, after a write that took this time; nil beside the shared places, at once.
    let place: (keys: ShareKeys, write: Duration)?
    /// When it began to wait for its place.
    let since: MonotonicInstant
    let waiter: CheckedContinuation<Outcome, Never>
    /// Starts the handler's task, given the run's number, and how old a message may be for a route without settings.
    let start: @Sendable (UInt64, Duration?) -> Task<Void, Never>
    /// The time by which it must end or, once it was cancelled, return; nil while it waits.
    var deadline: MonotonicInstant?
    /// The handler's task; nil while it waits.
    var task: Task<Void, Never>?
    /// Whether the handler was asked to return.
    var isCancelled = false

    /// Asks the handler to return; or ends a run that has not begun, because the service stops.
    func stop() {
        if let task { task.cancel() } else { waiter.resume(returning: .failure(of: route.id, ServiceStopped())) }
    }
}

extension PushService {
    /// Runs one handler within its timeout, when it has a place.
    func run(
        _ route: Route, of message: RoutedMessage, _ place: (keys: ShareKeys, write: Duration)?
    ) async -> Outcome {
        let now = clock.now
        return await withCheckedContinuation { waiter in
            let run = HandlerRun(message: message, route: route, place: place, since: now, waiter: waiter) {
                number, maxAge in
                self.start { [self] in
                    // A busy executor may begin it only when its time is over, or the service has stopped without it.
                    let isLate = Task.isCancelled
                    returned(
                        number, isLate ? .threw(HandlerOverrun()) : await receiver.call(route, message, maxAge: maxAge))
                }
            }
            if !change({ $0.add(run) }) { run.stop() }
        }
    }

    /// Handles a dead letter once more, and removes it from the store if it is handled.
    ///
    /// Like `PushReceiver.replay(_:)`, once, but handlers have their usual timeout, and a stopping service waits for
    /// them. No handler runs, and the outcome is `failed` at the place `deadLetters`, if the store no longer has the
    /// dead letter, if another call is replaying it, before ``run()``, and once the service stops.
    ///
    /// - Parameter letter: a dead letter of the receiver's store.
    /// - Returns: its outcome; after any but `handled`, and if others were merged into it, it stays in the store.
    @discardableResult
    public func replay(_ letter: DeadLetter) async -> Outcome {
        let refusal = change { $0.beginReplay(letter.id) }
        func refused(_ error: any Error) -> Outcome { .failure(of: "deadLetters", isMiddleware: true, error) }
        if let refusal { return refused(refusal) }
        defer { change { _ = $0.replayed.remove(letter.id) } }
        do {
            guard try receiver.deadLetters.contains(letter.id) else { return refused(ReplayRefused.gone) }
        } catch { return refused(error) }
        let outcome = await receiver.replay(letter) { route, message in await self.run(route, of: message, nil) }
        // There may be room for others.
        if case .handled = outcome { works(.deadLetters) }
        return outcome
    }

    /// Removes a dead letter as its store does, but not while it is being replayed.
    ///
    /// - Throws: ``ReplayRefused``, or why it cannot be removed.
    package func drop(_ letter: DeadLetter) throws -> Bool {
        if let refusal = change({ $0.beginReplay(letter.id) }) { throw refusal }
        defer { change { _ = $0.replayed.remove(letter.id) } }
        let isRemoved = try receiver.deadLetters.remove(letter)
        works(.deadLetters)
        return isRemoved
    }

    /// Called when a handler has returned, perhaps after the service continued without it.
    private func returned(_ number: UInt64, _ end: HandlerEnd) {
        let run = change { state in
            let run = state.endRun(number)
            if run == nil { state.overrunning -= 1 }
            return run
        }
        // What became of one that was left behind is of no interest.
        guard let run else { return }
        // What it throws when it is cancelled hides that its time was over, unless the error reports itself.
        if run.isCancelled, case .failed(let failure) = end.outcome(of: run.route), !failure.isShortage,
            !(failure.error is any ReportedError)
        {
            return self.end(run, .threw(HandlerOverrun()))
        }
        self.end(run, end)
    }

    /// Ends a run that had begun, with what counts as its end.
    private func end(_ run: HandlerRun, _ end: HandlerEnd) {
        run.waiter.resume(returning: receiver.ended(run.route, run.message, end))
    }

    // MARK: The timer

    /// Runs due actions and sleeps until the next one, until the service has stopped.
    func runTimer() async {
        while true {
            let now = clock.now
            // In one change, so that nothing can become due in between.
            let (due, sleep) = change { state in
                let due = state.takeDue(now)
                guard state.phase != .stopped else { return (due, Task<Void, Never>?.none) }
                let next = state.nextDue
                let task = start { await self.sleep(until: next) }
                state.sleep = (next, task)
                return (due, task)
            }
            for (run, why) in due {
                if why != .stopping {
                    tell(.overrun(messageID: run.message.id, route: run.route.id, isLeft: why == .left))
                }
                if why == .left { end(run, .threw(HandlerOverrun())) } else { run.stop() }
            }
            guard let sleep else { return }
            await sleep.value
        }
    }

    /// Sleeps until this time, or without one until the task is cancelled.
    private func sleep(until instant: MonotonicInstant?) async {
        if let instant {
            try? await clock.sleep(until: instant)
        } else {
            let (signal, source) = AsyncStream<Never>.makeStream()
            for await _ in signal {}
            source.finish()
        }
    }
}

extension ServiceState {
    /// Adds a run, which begins when it has a place; false if handlers are being cancelled.
    fileprivate mutating func add(_ run: HandlerRun) -> Bool {
        guard phase < .cancelling else { return false }
        let number = nextNumber()
        runs[number] = run
        if let place = run.place { waitingRuns.append(number, place.keys) } else { begin(number, run, run.since) }
        return true
    }

    /// Begins the runs that have a place.
    mutating func beginRuns(_ now: () -> MonotonicInstant) {
        while running.free.messages > 0,
            let number = waitingRuns.next({ [running, places] in running.mayRun($0, among: places) }),
            let run = runs[number], let place = run.place
        {
            let now = now()
            running.add(Use(), place.keys)
            tuneAhead(waited: run.since.duration(to: now), place.write)
            begin(number, run, now)
        }
    }

    private mutating func begin(_ number: UInt64, _ waiting: HandlerRun, _ now: MonotonicInstant) {
        var run = waiting
        let deadline = now.advanced(by: (run.route.options.delivery ?? delivery).timeout)
        (run.deadline, run.task) = (deadline, run.start(number, delivery.maxAge))
        runs[number] = run
        wakeTimer(by: deadline)
    }

    /// Begins one message more ahead of its place if the last one waited for it no longer than for a few writes; halves
    /// the number if it waited longer: a message that is begun too early only waits, and is in flight at a crash.
    private mutating func tuneAhead(waited: Duration, _ write: Duration) {
        guard room.isDurable, places > 1 else { return }
        ahead = waited <= write * 4 ? min(ahead + 1, max(settings.inFlight - places, 0)) : ahead / 2
    }

    /// Begins a replay, or a drop, which the end of the service waits for; returns why it may not begin.
    fileprivate mutating func beginReplay(_ id: UInt64) -> ReplayRefused? {
        // Before it runs, nothing would end a handler whose time is over.
        guard phase != .new else { return .notRunning }
        guard phase < .stopping else { return .stopping }
        return replayed.insert(id).inserted ? nil : .isRunning
    }

    /// Records that a handler is asked to return by `end`.
    private mutating func cancelRun(_ number: UInt64, until end: MonotonicInstant) {
        runs[number]?.isCancelled = true
        runs[number]?.deadline = end
    }

    /// Removes a run that has ended, and frees its place; nil if the service continued without it.
    mutating func endRun(_ number: UInt64) -> HandlerRun? {
        guard let run = runs.removeValue(forKey: number) else { return nil }
        if let keys = run.place?.keys { running.add(-Use(), keys) }
        return run
    }

    /// Why a run ends before its handler has returned: its time is over, also for returning after that, or the service
    /// stops.
    enum DueRun {
        case late, left, stopping
    }

    /// Takes the runs that are due, wakes the messages that are, and ends the phase of a stopping service.
    fileprivate mutating func takeDue(_ now: MonotonicInstant) -> [(run: HandlerRun, why: DueRun)] {
        var due: [(run: HandlerRun, why: DueRun)] = []
        let graceEnd = now.advanced(by: settings.grace)
        for (number, run) in runs {
            guard let deadline = run.deadline, deadline <= now else { continue }
            due.append((run, run.isCancelled ? .left : .late))
            if run.isCancelled {
                _ = endRun(number)
                overrunning += 1
            } else {
                cancelRun(number, until: graceEnd)
            }
        }
        if let end = phaseEnd, end <= now {
            if phase < .cancelling { due += cancelRuns(until: graceEnd) } else { (phase, phaseEnd) = (.stopped, nil) }
        }
        room.wake(now)
        return due
    }

    /// Lets no other handler begin, and those that run return by `end`, because the service has to stop.
    private mutating func cancelRuns(until end: MonotonicInstant) -> [(run: HandlerRun, why: DueRun)] {
        (phase, phaseEnd) = (.cancelling, end)
        defer {
            for (number, run) in runs {
                if run.task == nil { runs[number] = nil } else { cancelRun(number, until: end) }
            }
        }
        return runs.values.map { ($0, .stopping) }
    }
}

/// Why a dead letter is not replayed, or not dropped.
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
