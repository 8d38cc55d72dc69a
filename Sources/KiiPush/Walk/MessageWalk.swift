/// One message on its way: how far it has come, and the next step to take.
///
/// A value without locks, time or stores. It names a ``Step``; its driver takes the step and reports the result by the
/// method that the step's comment names, which returns the next step. There are two drivers: `PushReceiver`, in memory
/// and with one attempt (`PushReceiver+Walk.swift`), and `PushService`, over an inbox and with retries
/// (`PushService+Walk.swift`). Steps that most messages take are inlined: an outcome is handed on, not copied (7 %).
package struct MessageWalk: Sendable {
    package var message: RoutedMessage
    package private(set) var purpose = Purpose.handle
    package private(set) var chain = ChainProgress.unasked
    /// The table that its routes are from, until the chain has been asked.
    package private(set) var table: RouteTable?
    /// How often its handlers were run.
    package private(set) var attempts: Int
    /// How often in a row its handlers could not begin for lack of a resource.
    package private(set) var shortages = 0
    /// How often a stage of the chain failed.
    private(set) var stageFailures = 0
    /// The routes that have ended for it, in this order.
    private(set) var ends: RouteEnds
    /// The route that the attempt takes next.
    private var next = 0
    private var trouble: Trouble?
    /// The last error that was thrown: its type, or its own description.
    package private(set) var cause: String?
    /// Whether it waits because more of its kind came than are handled at once.
    package private(set) var isPaced = false
    /// The routes that were switched off when it came, and whether the message was as a whole.
    package let killed: (isWhole: Bool, routes: [String])
    /// After how many tries it is given up.
    private let mostTries: Int
    /// Whether its driver records attempts; state in memory needs no record.
    private let isRecorded: Bool
}

// By the initialiser of all members, which copies nothing: see that of ``RoutedMessage``.
extension MessageWalk {
    /// A message that a service has accepted.
    ///
    /// - Parameters:
    ///   - message: the message, with its routes.
    ///   - table: the table that the routes are from.
    ///   - killed: the routes that are switched off now, and whether the message is as a whole.
    ///   - mostTries: after how many tries it is given up.
    ///   - attempts: how often an earlier process has run its handlers.
    ///   - done: the routes that an earlier process has recorded as done.
    package init(
        _ message: RoutedMessage, _ table: RouteTable?, killed: (isWhole: Bool, routes: [String]), mostTries: Int,
        attempts: Int = 0, done: [String] = []
    ) {
        self.init(
            message: message, table: table, attempts: attempts, ends: RouteEnds(done, .handled),
            killed: killed, mostTries: mostTries, isRecorded: true)
    }

    /// A message that is handled in memory, and tried once.
    @inline(__always)
    init(_ message: consuming RoutedMessage) {
        // It has not waited, so a kill that stops it stops it on its arrival.
        self.init(
            message: message, attempts: 0, ends: RouteEnds(), killed: (true, []), mostTries: 1,
            isRecorded: false)
    }
}

extension MessageWalk {
    // MARK: Starting

    /// Sets the purpose for which the walk starts when its turn comes.
    package mutating func prepare(for purpose: Purpose) { self.purpose = purpose }

    /// Starts the walk, for the purpose that was set.
    package mutating func start() -> Step {
        let purpose = purpose
        switch purpose {
        case .handle:
            if case .unasked = chain { return .ask(.none) }
            return .lookForKills(amongStopped: false)
        case .quarantine: return .ask(.none)
        case .supersede: return .ask(.superseded)
        case .end(let outcome): return end(outcome)
        case .deadLetter(let reason): return .deadLetter(reason)
        }
    }

    /// The chain has judged it; `passed` stages let it pass.
    @inline(__always)
    package mutating func judged(_ judgement: consuming Judgement, _ passed: Int, _ bypass: AdmissionBypass) -> Step {
        table = nil
        if hasDone, case .none = bypass, case .end(.duplicate(.done)) = copy judgement {
            // It was remembered when some of its routes had handled it; the others must still get it.
            return .ask(.seen)
        }
        chain = .passed(passed)
        switch purpose {
        // The chain was asked so that the deduplicator knows the message's copies; the message itself never runs.
        case .quarantine: return .deadLetter(.quarantined)
        case .supersede: return end(judgement.ofReplaced)
        case .handle, .end, .deadLetter: break
        }
        switch consume judgement {
        case .handle: return message.stopped == nil ? begin() : .lookForKills(amongStopped: true)
        case .later(let until):
            defer { (chain, isPaced) = (.unasked, true) }
            return .pace(until: until, passed: passed, isFirst: !isPaced)
        case .wait(let lease): return .follow(lease)
        case .end(.failed(let failure)):
            // Undone and not counted: the chain judges it again, and only its end counts.
            chain = .unasked
            stageFailures += 1
            return .undo(failure, passed: passed)
        case .end(.looped(.killSwitch)) where !killed.isWhole: return .deadLetter(.killSwitch)
        case .end(let outcome): return end(outcome)
        }
    }

    /// These routes were switched off while it waited.
    package mutating func switchedOff(_ routes: [String]) -> Step {
        switchOff(routes)
        return routes.isEmpty || !remaining.isEmpty ? begin() : .deadLetter(.killSwitch)
    }

    private mutating func switchOff(_ routes: [String]) {
        for route in routes where !hasEnded(route) { ends.append(route, .switchedOff) }
    }

    // MARK: An attempt

    private mutating func begin() -> Step {
        attempts += 1
        isPaced = false
        message.attempt = UInt32(clamping: attempts)
        (next, trouble) = (0, nil)
        return isRecorded ? .begin(attempt: attempts) : runNext()
    }

    /// The beginning of the attempt is recorded, or could not be recorded before the service stopped.
    package mutating func begun(_ isRecorded: Bool) -> Step { isRecorded ? runNext() : .leave }

    @inline(__always)
    private mutating func runNext() -> Step {
        while next < message.routes.count {
            let route = message.routes[next]
            next += 1
            if !hasEnded(route.id) { return .run(route) }
        }
        guard ends.contains(where: { $0.end == .switchedOff }) else { return endAttempt() }
        return .deadLetterKilled(ends.filter { $0.end == .switchedOff }.map(\.route))
    }

    /// A handler has returned, overran its time, or was not called; `isShortage` if it failed for lack of a resource.
    @inline(__always)
    package mutating func ran(_ route: Route, _ outcome: consuming Outcome, isShortage: Bool = false) -> Step {
        // Most messages have one route, and it handles them.
        if outcome.isHandled, ends.isEmpty, message.routes.count == 1 { return .end(outcome) }
        switch consume outcome {
        case .handled: ends.append(route.id, .handled)
        case .looped(let layer): ends.append(route.id, .looped(layer))
        case .expired: ends.append(route.id, .expired)
        case .failed(let failure) where isShortage: trouble = trouble ?? .shortage(failure)
        case .failed(let failure): fails(failure)
        default: break
        }
        return runNext()
    }

    private mutating func fails(_ failure: Outcome.Failure) {
        if case .failure = trouble { return }
        trouble = .failure(failure)
    }

    /// It was dead-lettered for the routes that were switched off, or the dead-letter store has no capacity.
    package mutating func deadLetteredKilled(_ outcome: Outcome) -> Step {
        if case .failed(let failure) = outcome {
            fails(failure)
        } else {
            endAsDeadLettered([])
        }
        return endAttempt()
    }

    private mutating func endAttempt() -> Step {
        switch trouble {
        case nil: return end(outcome)
        case .failure(let failure): return failed(failure)
        case .shortage(let shortage):
            attempts -= 1
            shortages += 1
            return record(then: .waitForResources(shortage))
        }
    }

    private func record(then next: Step) -> Step { isRecorded ? .record(then: next) : next }

    // MARK: Not yet

    /// An attempt has failed, or a stage of the chain.
    package mutating func failed(_ failure: Outcome.Failure) -> Step {
        shortages = 0
        cause = ErrorReport.text(failure.error)
        return .fail(failure)
    }

    /// Whether the service in which an attempt has failed still runs.
    package func failed(_ failure: Outcome.Failure, isRunning: Bool) -> Step {
        // Recorded, so that it does not look as if it had ended the process.
        guard isRunning else { return record(then: .leave) }
        return tries < mostTries ? record(then: .retry(failure)) : .deadLetter(.failed)
    }

    // MARK: The end

    /// Ends it for the chain, too, once its dead letter is on disk.
    ///
    /// A dead letter is written with the next record, and the end in the deduplication store perhaps before: after a
    /// crash in between, the message would be a duplicate, and its dead letter lost.
    @inline(__always)
    private func end(_ outcome: consuming Outcome) -> Step {
        guard case .passed(1...) = chain, ends.contains(where: { $0.end == .deadLettered }) else {
            return .end(outcome)
        }
        return record(then: .end(outcome))
    }

    private mutating func endAsDeadLettered(_ routes: [String]) {
        ends.replace(.switchedOff, with: .deadLettered)
        for route in routes where !hasEnded(route) { ends.append(route, .deadLettered) }
    }

    /// It was dead-lettered for these routes, or the dead-letter store has no capacity.
    package mutating func deadLettered(
        _ outcome: Outcome, _ reason: DeadLetter.Reason, _ routes: [String], isDurable: Bool
    ) -> Step {
        guard case .failed = outcome else {
            endAsDeadLettered(routes)
            return end(reason == .quarantined ? .quarantined : outcome)
        }
        // Its transport delivers it again.
        guard isDurable else { return .end(outcome) }
        // No handler runs any more that could end the process.
        return attempts > 0 ? record(then: .putOff(reason, outcome)) : .putOff(reason, outcome)
    }
}
