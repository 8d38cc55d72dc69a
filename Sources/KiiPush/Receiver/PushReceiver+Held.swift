import Synchronization

// Messages that the loop guard holds: holding and releasing them.

extension PushReceiver {
    // MARK: Holding

    /// Holds a message that none of its routes may handle now; nil if the loop guard has no capacity.
    ///
    /// `willHold` is called first. Then the middlewares are notified, and then the breaker gets the message: from then
    /// on, its turn may come. If there is a `keeper`, it handles the message in place of the receiver.
    package func keep(
        _ message: RoutedMessage, _ breaker: BreakerID, _ passed: Int, for keeper: (any HeldKeeper)? = nil,
        _ willHold: (HeldMessage) -> Void = { _ in }
    ) -> HeldMessage? {
        guard let held = makeHeld(message, breaker, .passed(passed), keeper) else { return nil }
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

    /// Holds a message for its held routes, after the others have handled it or ended a loop.
    ///
    /// If neither the loop guard nor the dead-letter store has capacity, the message fails, so that it is delivered
    /// again: the other routes may handle it twice, but the held routes do not miss it.
    ///
    /// - Returns: the outcome; and the held message, or nil if it is not held.
    package func holdRemainder(
        _ message: RoutedMessage, _ outcome: Outcome, for keeper: (any HeldKeeper)? = nil,
        inboxID: UInt64? = nil, _ willHold: (HeldMessage) -> Void = { _ in }
    ) -> (Outcome, HeldMessage?) {
        guard let breaker = message.firstHold, outcome.leavesRemainder else { return (outcome, nil) }
        if let held = makeHeld(message, breaker, .ended(outcome), keeper) {
            willHold(held)
            loopGuard?.hold(held, breaker)
            return (outcome, held)
        }
        let aside = deadLetter(message, .holdLimitReached, message.held.ids, inboxID: inboxID)
        if case .failed = aside { return (aside, nil) }
        return (outcome, nil)
    }

    /// Holds an in-memory message for its held routes, and ends it for the chain.
    ///
    /// - Returns: nil if it is held, otherwise its outcome.
    func holdRemainder(_ walk: inout MessageWalk, _ outcome: Outcome) -> Outcome? {
        let (remaining, held) = holdRemainder(walk.message, outcome) { held in
            end(walk.message, outcome, walk.chain)
            if let before = walk.hold(held, told: outcome) {
                if !before.isRemainder { counters.uncountHeld() }
                before.finish(outcome)
            }
        }
        return held == nil ? remaining : nil
    }

    private func makeHeld(
        _ message: RoutedMessage, _ breaker: BreakerID, _ progress: ChainProgress, _ keeper: (any HeldKeeper)?
    ) -> HeldMessage? {
        let bytes = message.message.raw.bytes.count
        guard let loopGuard, let id = loopGuard.promise(breaker, bytes: bytes) ?? replace(message, breaker, bytes)
        else { return nil }
        for route in message.held { route.held.add(1, ordering: .relaxed) }
        return HeldMessage(
            id: id, message, progress, receiver: ObjectIdentifier(self), keeper: keeper ?? self,
            settle: { [chain] in chain.settle($0, $1, $2) })
    }

    /// Gives a message the place of an older change of its object, which is superseded.
    private func replace(_ message: RoutedMessage, _ breaker: BreakerID, _ bytes: Int) -> UInt64? {
        guard let loopGuard, let older = loopGuard.takeOlder(of: message, from: breaker) else { return nil }
        keeper(of: older).supersede(older)
        return loopGuard.promise(breaker, bytes: bytes)
    }

    // MARK: Letting go

    /// Handles the held messages whose turn it is, and returns their outcomes, in the order in which they ended.
    ///
    /// Call it regularly, or let ``run()`` do so: a receiver does nothing unless it is called. If the task is
    /// cancelled, no further message begins; the others stay held.
    @discardableResult
    public func handleDue() async -> [Outcome] {
        var outcomes: [Outcome] = []
        while !Task.isCancelled, let next = await handleNextDue({ _ in }) {
            if let outcome = next.outcome { outcomes.append(outcome) }
        }
        return outcomes
    }

    /// Gives each held message that is due its turn, without waiting for it to end.
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

    /// Handles a message whose turn it is; nil if its keeper no longer exists, or another breaker holds it now.
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

    /// Calls `willHandle` with the held message whose turn it is, and then handles it; nil if none is due.
    ///
    /// - Returns: the message and its outcome; no outcome if its keeper no longer exists, or another breaker holds it.
    package func handleNextDue(
        _ willHandle: (HeldMessage) async -> Void
    ) async -> (message: HeldMessage, outcome: Outcome?)? {
        guard let loopGuard, let (held, breaker) = loopGuard.takeDue() else { return nil }
        await willHandle(held)
        return (held, await Self.takeTurn(held, breaker, loopGuard))
    }

    /// Handles held messages when their turn comes, until the task is cancelled.
    ///
    /// Start one task with it beside the transport. It checks at least once a second, on the receiver's clock.
    public func run() async {
        while !Task.isCancelled {
            await handleDue()
            let latest = clock.now.advanced(by: .seconds(1))
            do { try await clock.sleep(until: min(loopGuard?.nextDue ?? latest, latest)) } catch { return }
        }
    }

    /// The held messages of this receiver, oldest first.
    public var held: [HeldMessage] { loopGuard?.held.filter { $0.receiver == ObjectIdentifier(self) } ?? [] }

    /// Handles held messages now, regardless of their breakers, oldest first.
    ///
    /// The kill switch and the current routes still apply.
    ///
    /// - Parameter condition: selects the messages.
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

    /// The keeper of a held message: its service or, if that no longer exists, this receiver.
    private func keeper(of held: HeldMessage) -> any HeldKeeper { held.keeper ?? self }

    private func takeHeld(where condition: @Sendable (HeldMessage) -> Bool) -> [HeldMessage] {
        // Evaluated before the guard's lock is taken, so that the condition may call the guard.
        let chosen = Set(held.filter(condition).map(\.id))
        return chosen.isEmpty ? [] : loopGuard?.removeHeld { chosen.contains($0.id) } ?? []
    }

    /// Has the loop guard judge a held message that continues, with its current routes.
    package func resume(
        _ held: HeldMessage, _ bypass: AdmissionBypass
    ) -> (message: RoutedMessage, next: MessageWalk.Resumption) {
        var message = held.routed
        let (table, recorder) = begin()
        var match = table.match(message.message.storage)
        match.routes = MatchedRoutes(match.routes.filter { route in held.routes.contains { $0.isExactly(route.id) } })
        message.resume(match, bypass, now: clock.now, recorder)
        message.recorder?.begin()
        let verdict = loopGuard?.admit(&message) ?? .pass
        message.recorder?.end("LoopGuard", verdict)
        return (message, resumption(of: held, message, match, judgement(verdict, message)))
    }

    private func resumption(
        of held: HeldMessage, _ message: RoutedMessage, _ match: RouteMatch, _ judgement: MessageWalk.Judgement
    ) -> MessageWalk.Resumption {
        switch judgement {
        case .handle: return .handle(killed: match.ended(in: message))
        case .hold(let breaker):
            let hasCapacity = loopGuard?.promise(breaker, bytes: held.bytes) != nil
            return hasCapacity ? .hold(breaker) : .deadLetter(.holdLimitReached)
        // Switched off since its turn began; it is dead-lettered, as a kill does with held messages.
        case .end(.looped(.killSwitch)): return .deadLetter(.killSwitch)
        case .end(let end): return .end(end)
        // Only the deduplicator returns this, and it has already admitted a held message.
        case .wait: return .end(.unrouted(.noRoute))
        }
    }

    /// Ends a held message.
    func end(_ held: HeldMessage, _ message: RoutedMessage, _ outcome: Outcome) {
        if !held.isRemainder { counters.uncountHeld() }
        end(message, outcome, held.chain)
        held.finish(outcome)
    }
}

extension PushReceiver: HeldKeeper {
    /// A receiver holds messages in memory, so they are lost with the process.
    package var isDurable: Bool { false }

    /// Handles a held message; nil if another breaker holds it now.
    package func run(_ held: HeldMessage, _ bypass: AdmissionBypass) async -> Outcome? {
        var walk = MessageWalk(held, bypass)
        let outcome = await self.walk(&walk)
        if case .held = outcome { return nil }
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
    /// The routes that neither pass nor are held after the loop guard has judged a message that waited.
    fileprivate func ended(in message: RoutedMessage) -> [String] {
        routes.filter { route in
            !message.routes.contains { $0 === route } && !message.held.contains { $0 === route }
        }.map(\.id)
    }
}

extension Outcome {
    /// Whether the held routes of a message with this outcome must still handle it.
    package var leavesRemainder: Bool {
        switch self {
        case .handled, .expired, .looped(.ownBucket), .looped(.lineage): true
        default: false
        }
    }
}
