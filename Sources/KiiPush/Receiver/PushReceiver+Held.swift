import Synchronization

// Messages that the loop guard holds: keeping them, letting them go, and putting aside those that nobody may handle.

extension PushReceiver {
    // MARK: Keeping

    /// Keeps a message that none of its routes may handle now; the outcome of one that there is no room for.
    package func hold(_ message: RoutedMessage, _ breaker: BreakerID, _ passed: Int) -> Outcome {
        if let held = keep(message, breaker, passed) { return .held(held) }
        let outcome = deadLetter(message, .holdLimitReached, message.held.ids)
        conclude(message, outcome, passed)
        return outcome
    }

    /// Keeps a message that none of its routes may handle now; nil where there is no room for it.
    ///
    /// The stages are told before the breaker gets it: from then on it may be its turn. Before both, `willHold` is
    /// called. A `keeper` handles it in its turn in place of the receiver.
    package func keep(
        _ message: RoutedMessage, _ breaker: BreakerID, _ passed: Int, for keeper: (any HeldKeeper)? = nil,
        _ willHold: (HeldMessage) -> Void = { _ in }
    ) -> HeldMessage? {
        guard let held = makeHeld(message, breaker, passed, keeper) else { return nil }
        willHold(held)
        var message = message
        message.isStored = keeper?.isDurable ?? false
        chain.hold(message, passed)
        counters.count(.held(held))
        if let recorder = message.recorder {
            if let hold = loopGuard?.hold(by: breaker) {
                recorder.begin()
                recorder.end("hold", hold.sentence(at: clock.now))
            }
            recorder.finish(message, .held(held))
        }
        loopGuard?.hold(held, breaker)
        return held
    }

    /// Keeps for the held routes a message that others have handled, or would have fed a loop with; returns its
    /// outcome.
    ///
    /// One that failed will be delivered again and held then. So will one that there is no room for, neither here nor
    /// in the dead letters: to be handled twice by the others is better than never by these.
    package func holdRemainder(
        _ message: RoutedMessage, _ outcome: Outcome, for keeper: (any HeldKeeper)? = nil,
        inboxID: UInt64? = nil, _ willHold: (HeldMessage) -> Void = { _ in }
    ) -> (Outcome, HeldMessage?) {
        guard let breaker = message.firstHold, outcome.leavesRemainder else { return (outcome, nil) }
        if let held = makeHeld(message, breaker, nil, keeper) {
            willHold(held)
            loopGuard?.hold(held, breaker)
            return (outcome, held)
        }
        let aside = deadLetter(message, .holdLimitReached, message.held.ids, inboxID: inboxID)
        if case .failed = aside { return (aside, nil) }
        return (outcome, nil)
    }

    private func makeHeld(
        _ message: RoutedMessage, _ breaker: BreakerID, _ passed: Int?, _ keeper: (any HeldKeeper)?
    ) -> HeldMessage? {
        let bytes = message.message.raw.bytes.count
        guard let loopGuard, let id = loopGuard.promise(breaker, bytes: bytes) ?? replace(message, breaker, bytes)
        else { return nil }
        for route in message.held { route.held.add(1, ordering: .relaxed) }
        return HeldMessage(
            id: id, message, passed: passed, receiver: ObjectIdentifier(self), keeper: keeper ?? self,
            settle: { [chain] in chain.settle($0, $1, $2) })
    }

    /// Gives a message the place of an older change of its object, where there is no other place left.
    // Never inlined: nearly no message comes here.
    @inline(never)
    private func replace(_ message: RoutedMessage, _ breaker: BreakerID, _ bytes: Int) -> UInt64? {
        guard let loopGuard, let older = loopGuard.takeOlder(of: message, from: breaker) else { return nil }
        keeper(of: older).supersede(older)
        return loopGuard.promise(breaker, bytes: bytes)
    }

    /// Puts a message aside; says how it failed where there is no room for it.
    package func deadLetter(
        _ message: RoutedMessage, _ reason: DeadLetter.Reason, _ routes: [String], attempts: Int = 0,
        cause: String? = nil, inboxID: UInt64? = nil
    ) -> Outcome {
        var letter = DeadLetter(
            payload: message.message.raw, reason: reason, routes: routes, arrivedAt: message.arrivedAt)
        (letter.attempts, letter.cause, letter.inboxID) = (attempts, cause, inboxID)
        letter.keys = DeadLetter.Key.keys(message.message, reason, routes.first)
        do {
            try putAside(letter)
            return .deadLettered(reason)
        } catch {
            return .failed(
                Outcome.Failure(place: "deadLetters", isStage: true, error: error, handled: MatchedRoutes()))
        }
    }

    /// Puts a letter into the store, and tells who listens.
    package func putAside(_ letter: DeadLetter) throws {
        var letter = letter
        letter.rulesGeneration = rulesGeneration
        letter.id = try deadLetters.add(letter)
        setup.withLock { $0.deadLetterListeners.call }?(letter)
    }

    // MARK: Letting go

    /// Handles the held messages whose turn it is, and returns their outcomes, in the order in which they ended.
    ///
    /// Call it now and then, or let ``run()`` do it: a receiver does nothing while nobody calls it. Where the task is
    /// cancelled it begins no other one; what waits stays held.
    @discardableResult
    public func handleDue() async -> [Outcome] {
        loopGuard?.tellStoreAgain()
        var outcomes: [Outcome] = []
        while !Task.isCancelled, let next = await handleNextDue({ _ in }) {
            if let outcome = next.outcome { outcomes.append(outcome) }
        }
        return outcomes
    }

    /// Gives all held messages their turn that are due, without waiting for their ends.
    package func giveTurns() {
        guard let loopGuard else { return }
        while let (held, breaker) = loopGuard.takeDue() {
            if let keeper = held.keeper {
                keeper.giveTurn(held, breaker)
            } else {
                held.abandon()
                loopGuard.turnEnded(breaker)
            }
        }
    }

    /// Handles a message whose turn it is; nil when its keeper is gone, or another breaker holds it now.
    private static func takeTurn(
        _ held: HeldMessage, _ breaker: BreakerID, _ loopGuard: LoopGuard
    ) async -> Outcome? {
        defer { loopGuard.turnEnded(breaker) }
        guard let keeper = held.keeper else {
            held.abandon()
            return nil
        }
        return await keeper.run(held, .breaker(breaker))
    }

    /// Handles the held message whose turn it is, after `willHandle` was called with it; nil when none is due.
    ///
    /// - Returns: the message and its outcome; no outcome when another breaker holds it now.
    package func handleNextDue(
        _ willHandle: (HeldMessage) async -> Void
    ) async -> (message: HeldMessage, outcome: Outcome?)? {
        guard let loopGuard, let (held, breaker) = loopGuard.takeDue() else { return nil }
        await willHandle(held)
        return (held, await Self.takeTurn(held, breaker, loopGuard))
    }

    /// Handles held messages when their turn comes, until the task is cancelled.
    ///
    /// Start one task with it beside the transport. It looks at least once a second, on the receiver's clock.
    public func run() async {
        while !Task.isCancelled {
            await handleDue()
            let latest = clock.now.advanced(by: .seconds(1))
            do { try await clock.sleep(until: min(loopGuard?.nextDue ?? latest, latest)) } catch { return }
        }
    }

    /// The messages of this receiver that are held, oldest first.
    public var held: [HeldMessage] { loopGuard?.held.filter { $0.receiver == ObjectIdentifier(self) } ?? [] }

    /// Handles held messages now, whatever their breakers say, oldest first.
    ///
    /// The kill switch still counts, and so do the routes as they are now.
    ///
    /// - Parameter condition: which ones.
    /// - Returns: their outcomes.
    @discardableResult
    public func releaseHeld(where condition: @Sendable (HeldMessage) -> Bool = { _ in true }) async -> [Outcome] {
        var outcomes: [Outcome] = []
        for held in takeHeld(where: condition) {
            if let outcome = await keeper(of: held).run(held, .all) { outcomes.append(outcome) }
        }
        return outcomes
    }

    /// Ends held messages as `looped` (`rate`), without handling them; returns how many there were.
    @discardableResult
    public func dropHeld(where condition: @Sendable (HeldMessage) -> Bool = { _ in true }) -> Int {
        let dropped = takeHeld(where: condition)
        for held in dropped { keeper(of: held).drop(held) }
        return dropped.count
    }

    /// Who handles a held message of this receiver: a service that is gone leaves it to the receiver.
    private func keeper(of held: HeldMessage) -> any HeldKeeper { held.keeper ?? self }

    private func takeHeld(where condition: @Sendable (HeldMessage) -> Bool) -> [HeldMessage] {
        // Asked before the guard's lock is taken, so that the condition may ask the guard.
        let chosen = Set(held.filter(condition).map(\.id))
        return chosen.isEmpty ? [] : loopGuard?.removeHeld { chosen.contains($0.id) } ?? []
    }

    /// What is to be done with a held message that goes on.
    package enum Resumed {
        /// Run its handlers, and dead-letter it for the routes that were switched off while it waited.
        case handle(killed: [String])
        /// Hold it once more: this breaker has promised it a place.
        case hold(BreakerID)
        /// Dead-letter it for the routes that it was held for.
        case deadLetter(DeadLetter.Reason)
        case end(Outcome)
    }

    /// A held message as it goes on: with its routes as they are now, and what is to be done with it.
    package func resume(_ held: HeldMessage, _ bypass: AdmissionBypass) -> (message: RoutedMessage, next: Resumed) {
        var message = held.routed
        let (table, recorder) = begin()
        var match = table.match(message.message.storage)
        match.routes = MatchedRoutes(match.routes.filter { route in held.routes.contains { $0.isExactly(route.id) } })
        message.resume(match, bypass, now: clock.now, recorder)
        message.recorder?.begin()
        let verdict = loopGuard?.admit(&message) ?? .pass
        message.recorder?.end("LoopGuard", verdict)
        return (message, resumed(held, message, match, next(verdict, message)))
    }

    private func resumed(
        _ held: HeldMessage, _ message: RoutedMessage, _ match: RouteMatch, _ next: Next
    ) -> Resumed {
        switch next {
        case .handle: return .handle(killed: match.ended(in: message))
        case .hold(let breaker):
            let hasRoom = loopGuard?.promise(breaker, bytes: held.bytes) != nil
            return hasRoom ? .hold(breaker) : .deadLetter(.holdLimitReached)
        // Switched off between its turn and here; what waited is dead-lettered, as by the kill itself.
        case .end(.looped(.killSwitch)): return .deadLetter(.killSwitch)
        case .end(let end): return .end(end)
        // Only the deduplicator says so, and a message that was held has passed it.
        case .wait: return .end(.unrouted(.noRoute))
        }
    }

    /// Settles a held message.
    private func end(_ held: HeldMessage, _ message: RoutedMessage, _ outcome: Outcome) {
        if let passed = held.passed {
            chain.settle(message, outcome, passed)
            counters.uncountHeld()
            counters.count(outcome)
        } else {
            loopGuard?.settle(message, outcome)
        }
        held.finish(outcome)
        message.recorder?.finish(message, outcome)
    }

    // MARK: Dead letters

    /// Handles a dead letter once more, and takes it out of the store when it is handled.
    ///
    /// It goes through the whole chain, but neither the deduplicator nor a breaker nor its age stops it. Only the
    /// routes that did not handle it are called, if they still take it; for a letter that could not be decoded when it
    /// was put aside, and can be now, all routes that take it. No time limit holds for them; see
    /// `PushService.replay(_:)`.
    ///
    /// - Returns: its outcome; of any but `handled` the letter stays in the store.
    @discardableResult
    public func replay(_ letter: DeadLetter) async -> Outcome {
        await replay(letter) { message in
            var message = message
            return await handle(&message)
        }
    }

    /// The same, with the handlers called by `handle`, which says how the message has ended.
    package func replay(_ letter: DeadLetter, handle: (RoutedMessage) async -> Outcome) async -> Outcome {
        do {
            var message = try prepare(letter.payload)
            // Nobody knew the routes of what could not be decoded.
            if letter.reason != .undecodable {
                message.routes = MatchedRoutes(
                    message.routes.filter { route in letter.routes.contains { $0.isExactly(route.id) } })
            }
            message.replay()
            var passed = 0
            let end: Outcome
            switch admit(&message, passed: &passed) {
            case .handle: end = await handle(message)
            case .end(let outcome): end = outcome
            // With its permit it neither repeats another nor is held.
            case .wait, .hold: end = .unrouted(.noRoute)
            }
            let outcome = settle(message, end, passed)
            // A letter that cannot be taken out may be replayed again, which at-least-once allows.
            if case .handled = outcome { _ = try? deadLetters.remove(letter.id) }
            return outcome
        } catch {
            return .undecodable(error)
        }
    }
}

extension PushReceiver: HeldKeeper {
    /// What a receiver holds is lost with the process.
    package var isDurable: Bool { false }

    /// Handles a held message, or leaves it to another breaker that holds it: nil then.
    package func run(_ held: HeldMessage, _ bypass: AdmissionBypass) async -> Outcome? {
        var (message, next) = resume(held, bypass)
        var outcome: Outcome
        switch next {
        case .handle(let killed):
            let aside = killed.isEmpty ? nil : deadLetter(message, .killSwitch, killed)
            outcome = await handle(&message)
            // Without room among the dead letters its transport brings it again, unless a handler ends it otherwise.
            switch (aside, outcome) {
            case (.failed(let failure)?, .handled), (.failed(let failure)?, .expired): outcome = .failed(failure)
            default: break
            }
        case .hold(let breaker):
            loopGuard?.hold(held, breaker)
            return nil
        case .deadLetter(let reason): outcome = deadLetter(message, reason, held.routes)
        case .end(let end): outcome = end
        }
        if held.isRemainder, case .failed = outcome { outcome = deadLetter(message, .failed, held.routes) }
        if message.hasHeld { (outcome, _) = holdRemainder(message, outcome) }
        end(held, message, outcome)
        return outcome
    }

    package func giveTurn(_ held: HeldMessage, _ breaker: BreakerID) {
        guard let loopGuard else { return }
        Task { _ = await Self.takeTurn(held, breaker, loopGuard) }
    }

    package func drop(_ held: HeldMessage) { end(held, held.traced(), .looped(.rate)) }

    package func supersede(_ held: HeldMessage) { end(held, held.traced(), .superseded) }

    package func putAside(_ held: HeldMessage, _ reason: DeadLetter.Reason) {
        end(held, held.traced(), deadLetter(held.routed, reason, held.routes))
    }
}

extension RouteMatch {
    /// The routes that neither pass nor are held any more once the loop guard has judged a message that waited.
    fileprivate func ended(in message: RoutedMessage) -> [String] {
        routes.filter { route in
            !message.routes.contains { $0 === route } && !message.held.contains { $0 === route }
        }.map(\.id)
    }
}

extension Outcome {
    /// Whether the routes that are held of a message that ended so are still to have it.
    package var leavesRemainder: Bool {
        switch self {
        case .handled, .expired, .looped(.ownBucket), .looped(.lineage): true
        default: false
        }
    }
}
