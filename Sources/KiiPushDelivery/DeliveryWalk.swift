import KiiPush

/// Where one message stands on its way through a service, and what to do with it next.
///
/// A value without locks, time or stores. It names a ``Step``; the service takes the step and tells the walk what came
/// of it, by the method named in the step's comment, which names the next step. `PushService+Walk.swift` takes the
/// steps.
struct DeliveryWalk: Sendable {
    /// The attempt that runs: the route that is next, and what has gone wrong with those before it.
    private struct Attempt {
        var next = 0
        var failure: Outcome.Failure?
        var shortage: Outcome.Failure?
    }

    var message: RoutedMessage
    private(set) var purpose = Purpose.handle
    private(set) var chain = Chain.unasked
    /// The table that its routes are of, until the chain has been asked.
    private(set) var table: RouteTable?
    /// How often its handlers were run.
    private(set) var attempts: Int
    /// How often in a row its handlers could not begin, for want of what the machine lacks.
    private(set) var shortages = 0
    /// How often a stage of the chain could not decide.
    private var stageFailures = 0
    /// The routes that have ended for it, in the order in which they did.
    private var ends: [(route: String, end: RouteEnd)]
    private var attempt = Attempt()
    /// Whether only routes that are held are still to have it.
    private var hasRemainder = false
    /// What was thrown last: its type, or what it says of itself.
    private(set) var cause: String?
    /// What the loop guard held it as; told its end.
    private(set) var held: HeldMessage?
    /// The routes that were switched off when it came, and whether it was as a whole; the others it waited for.
    let killed: (isWhole: Bool, routes: [String])
    /// After how many tries it is given up.
    private let mostTries: Int

    init(
        _ message: RoutedMessage, _ table: RouteTable?, killed: (isWhole: Bool, routes: [String]), mostTries: Int,
        attempts: Int = 0, done: [String] = []
    ) {
        self.message = message
        self.table = table
        self.killed = killed
        self.mostTries = mostTries
        self.attempts = attempts
        ends = done.map { ($0, .handled) }
    }

    // MARK: Taking up

    /// Sets what it is taken up for when its turn comes.
    mutating func prepare(for purpose: Purpose) { self.purpose = purpose }

    /// Begins to walk, for the purpose that was set.
    mutating func start() -> Step {
        let purpose = purpose
        switch purpose {
        case .handle:
            if case .unasked = chain { return .ask(.none) }
            return .lookForKills(amongStopped: false)
        case .resume(let held, let bypass):
            self.purpose = .handle
            return .resume(held, bypass)
        case .quarantine, .supersede: return .ask(.none)
        case .end(let outcome): return conclude(outcome)
        case .deadLetter(let reason): return .deadLetter(reason)
        }
    }

    /// The chain has judged it.
    mutating func judged(_ next: PushReceiver.Next, _ passed: Int, _ bypass: AdmissionBypass) -> Step {
        table = nil
        if case .none = bypass, case .end(.duplicate(.done)) = next, hasDone {
            // It was remembered when some of its routes had handled it; the others are still to have it.
            return .ask(.seen)
        }
        chain = .passed(passed)
        switch (purpose, next) {
        // For the deduplicator, that its copies are known; whatever else the chain says, it is not run.
        case (.quarantine, _): return .deadLetter(.quarantined)
        // The chain has to know it, or its copy would be new.
        case (.supersede, .handle), (.supersede, .hold), (.supersede, .wait), (.supersede, .end(.failed)):
            return conclude(.superseded)
        case (_, .handle): return message.stopped == nil ? begin() : .lookForKills(amongStopped: true)
        case (_, .hold(let breaker)): return .hold(breaker, passed: passed)
        case (_, .wait(let lease)): return .follow(lease)
        case (.handle, .end(.failed(let failure))):
            // Undone and not counted: the chain judges it anew, and its end is what counts.
            chain = .unasked
            stageFailures += 1
            return .undo(failure, passed: passed)
        case (.handle, .end(.looped(.killSwitch))) where !killed.isWhole: return .deadLetter(.killSwitch)
        case (_, .end(let outcome)): return conclude(outcome)
        }
    }

    /// It goes on after it was held, as the loop guard judges it now.
    mutating func resumed(_ next: PushReceiver.Resumed, _ message: RoutedMessage, _ held: HeldMessage) -> Step {
        self.message = message
        switch next {
        case .handle(let killed):
            switchOff(killed)
            return begin()
        case .hold(let breaker): return .holdAgain(held, breaker)
        case .deadLetter(let reason):
            if reason == .killSwitch { switchOff(held.routes) }
            return .deadLetter(reason)
        case .end(let outcome): return conclude(outcome)
        }
    }

    /// These routes were switched off while it waited.
    mutating func switchedOff(_ routes: [String]) -> Step {
        switchOff(routes)
        return routes.isEmpty || !remaining.isEmpty ? begin() : .deadLetter(.killSwitch)
    }

    private mutating func switchOff(_ routes: [String]) {
        for route in routes where !hasEnded(route) { ends.append((route, .switchedOff)) }
    }

    // MARK: An attempt

    private mutating func begin() -> Step {
        attempts += 1
        message.attempt = UInt32(clamping: attempts)
        attempt = Attempt()
        return .begin(attempt: attempts)
    }

    /// It is recorded that the attempt begins, or it could not be before the service stopped.
    mutating func begun(_ isRecorded: Bool) -> Step { isRecorded ? runNext() : .leave }

    private mutating func runNext() -> Step {
        while attempt.next < message.routes.count {
            let route = message.routes[attempt.next]
            attempt.next += 1
            if !hasEnded(route.id) { return .run(route) }
        }
        let killed = ends.filter { $0.end == .switchedOff }.map(\.route)
        return killed.isEmpty ? endAttempt() : .deadLetterKilled(killed)
    }

    /// A handler has returned, was left, or was not called.
    mutating func ran(_ route: Route, _ outcome: Outcome) -> Step {
        switch outcome {
        case .handled: ends.append((route.id, .handled))
        case .looped(let layer): ends.append((route.id, .looped(layer)))
        case .expired: ends.append((route.id, .expired))
        case .failed(let reason) where reason.error is any ResourceShortage:
            attempt.shortage = attempt.shortage ?? reason
        case .failed(let reason): attempt.failure = attempt.failure ?? reason
        default: break
        }
        return runNext()
    }

    /// It was dead-lettered for the routes that were switched off, or found no room there.
    mutating func deadLetteredKilled(_ outcome: Outcome) -> Step {
        if case .failed(let failure) = outcome {
            attempt.failure = attempt.failure ?? failure
        } else {
            endAsDeadLettered([])
        }
        return endAttempt()
    }

    private mutating func endAttempt() -> Step {
        if let failure = attempt.failure { return failed(failure) }
        guard let shortage = attempt.shortage else { return conclude(end) }
        attempts -= 1
        shortages += 1
        return .record(then: .waitForResources(shortage))
    }

    // MARK: Not yet

    /// An attempt has failed, or a stage of the chain.
    mutating func failed(_ failure: Outcome.Failure) -> Step {
        shortages = 0
        cause = ErrorReport.text(failure.error)
        return .fail(failure)
    }

    /// Whether the service still runs in which an attempt has failed.
    func failed(_ failure: Outcome.Failure, isRunning: Bool) -> Step {
        // Recorded, so that it does not look as if it had ended the process.
        guard isRunning else { return .record(then: .leave) }
        return tries < mostTries ? .record(then: .retry(failure)) : .deadLetter(.failed)
    }

    /// The loop guard had no room for it.
    func notHeld() -> Step { .deadLetter(.holdLimitReached) }

    /// The loop guard had no room for what is left of it, which was dead-lettered, or found no room there either.
    mutating func notHeld(_ outcome: Outcome, isDurable: Bool) -> Step {
        if case .failed(let failure) = outcome {
            if isDurable { return failed(failure) }
        } else {
            endAsDeadLettered(message.held.ids)
        }
        return endRecorded(outcome)
    }

    /// The loop guard holds it: whole, or what is left when the chain was told an end.
    ///
    /// - Returns: the message as it was held before; nil the first time.
    mutating func hold(_ held: HeldMessage, told outcome: Outcome? = nil) -> HeldMessage? {
        if let outcome { chain = .told(told ?? outcome) }
        defer { self.held = held }
        return self.held
    }

    // MARK: The end

    /// Ends it, but for routes that are held: for those, it stays.
    private mutating func conclude(_ outcome: Outcome) -> Step {
        guard message.hasHeld, outcome.leavesRemainder else { return endRecorded(outcome) }
        // Recorded before the chain is told: after a crash the seen store may know the message, and only the inbox what
        // is left.
        hasRemainder = true
        return .record(then: .holdRemainder(outcome))
    }

    /// Ends it for the chain too, once its dead letter is on disk.
    ///
    /// A dead letter is written with the next record, and the end in the seen store perhaps before that: after a crash
    /// in between the message would be a duplicate, and its dead letter gone.
    private func endRecorded(_ outcome: Outcome) -> Step {
        let isTold = if case .passed(1...) = chain { true } else { false }
        return isTold && ends.contains { $0.end == .deadLettered } ? .record(then: .end(outcome)) : .end(outcome)
    }

    private mutating func endAsDeadLettered(_ routes: [String]) {
        for index in ends.indices where ends[index].end == .switchedOff { ends[index].end = .deadLettered }
        for route in routes where !hasEnded(route) { ends.append((route, .deadLettered)) }
    }

    /// It was dead-lettered for these routes, or found no room there.
    mutating func deadLettered(
        _ outcome: Outcome, _ reason: DeadLetter.Reason, _ routes: [String], isDurable: Bool
    ) -> Step {
        guard case .failed = outcome else {
            endAsDeadLettered(routes)
            return endRecorded(reason == .quarantined ? .quarantined : outcome)
        }
        // Its transport brings it again.
        guard isDurable else { return .end(outcome) }
        // Nothing runs any more that could end the process.
        return attempts > 0 ? .record(then: .putOff(reason, outcome)) : .putOff(reason, outcome)
    }

    /// How it ends when no route is left that failed.
    private var end: Outcome {
        for case (_, .looped(let layer)) in ends { return .looped(layer) }
        return !hasDone && ends.contains { $0.end == .expired } ? .expired : .handled(succeeded)
    }
}

// MARK: - Asking

extension DeliveryWalk {
    /// How often it was tried, by a stage that could not decide or by its handlers.
    var tries: Int { attempts + stageFailures }

    /// Whether it waits for its first turn.
    var isUntried: Bool {
        if case .handle = purpose { tries == 0 } else { false }
    }

    /// The breaker that gives it the turn for which it waits.
    var turn: BreakerID? {
        if case .resume(_, .breaker(let breaker)) = purpose { breaker } else { nil }
    }

    /// How it ended for its transport, where that was before its held routes had it.
    var told: Outcome? {
        if case .told(let outcome) = chain { outcome } else { nil }
    }

    /// The routes that are to handle it still.
    var remaining: [Route] { message.routes.filter { !hasEnded($0.id) } }

    /// The routes that never see it again, in this process or in the next one: those that are done with it, and those
    /// for which it was too old when it ended for all that are not held.
    var done: [String] { ends.filter { $0.end.isDone || hasRemainder && $0.end == .expired }.map(\.route) }

    /// Its routes that are done with it.
    var succeeded: MatchedRoutes { MatchedRoutes(message.routes.filter { isDone($0.id) }) }

    func isDone(_ route: String) -> Bool { ends.contains { $0.end.isDone && $0.route.isExactly(route) } }

    /// The routes that have not handled it: those that pass, were switched off or are held; where the chain has stopped
    /// all, those that `match` gives it.
    func open(_ match: () -> MatchedRoutes) -> [String] {
        let killed = ends.filter { $0.end == .switchedOff }.map(\.route)
        let left = remaining.map(\.id) + killed + message.held.ids
        return left.isEmpty ? match().ids.filter { !isDone($0) } : left
    }

    private var hasDone: Bool { ends.contains { $0.end.isDone } }

    private func hasEnded(_ route: String) -> Bool { ends.contains { $0.route.isExactly(route) } }
}
