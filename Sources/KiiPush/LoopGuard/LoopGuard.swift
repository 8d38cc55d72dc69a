import Synchronization

/// Stops loops: handlers that cause the very pushes that they handle.
///
/// A handler that writes to the bucket that it listens to can start a loop across the whole fleet. Put the guard second
/// in the chain, behind ``Deduplicator``. It has five layers, each with its own reason and counter, and each can be
/// switched off in ``LoopSettings/layers``:
///
/// - *Identity* drops events that this device caused: the sender is one of `me`, the identities that only this device
///   writes as. Do not list a user with several devices, because the events of the other devices would be dropped too.
///   Payloads without a sender, such as any APNs Push to App, pass.
/// - *Echo* drops the event of a write that a handler declared with ``HandlerContext/willWrite(_:)``; ``OwnWrite`` says
///   which event that is.
/// - *Lineage* drops a message that has passed through more handlers than ``LoopSettings/hops``, according to its stamp
///   or to the object that it is about; see ``Lineage``.
/// - *Rate* pauses a key that exceeds ``LoopSettings/rate``. The guard holds its messages for a few seconds and finds
///   out whether handling them causes more; see <doc:LoopSafety>. It holds up to 16,384 messages or 8 MiB of a key, and
///   32,768 or 16 MiB in all; ``hold(of:)`` says why one is held.
/// - *Kill switch*: ``kill(_:for:)`` stops the messages of a route, of a bucket, or all, at once and until a time, held
///   ones too, without a new release.
///
/// Identity, echo, lineage, and a kill of a bucket or of everything judge the message; the rate and a kill of a route
/// judge each of its routes. All state is in memory and bounded. It survives changes of the settings and of the routes,
/// which it identifies by their ids. With a ``BreakerStore``, open breakers survive a restart too: they resume where
/// they left off.
///
/// A store that throws stops no message. The guard continues in memory, writes again after a growing pause of 1 to 30
/// s, and counts the failure in ``storeFailures``; a `PushService` reports it as `ServiceEvent.storeFailed(_:)`.
public final class LoopGuard: Middleware, WriteWatch {
    /// The most breakers that there are, and so the most that a ``BreakerStore`` keeps.
    public static let mostBreakers = RateBreakers.mostNarrow + RateBreakers.mostWide + RateBreakers.mostBroad

    private let clock: StageClock
    let secret: DedupeSecret
    /// What tells the store of breakers; nil without one.
    private let writer: BreakerWriter?
    /// What stands for this device in stamps when it has no identity; nothing of the secret, since stamps are sent.
    private let nameless = DedupeKey(first: .random(in: 0 ... .max), second: .random(in: 0 ... .max))
    let state: Mutex<LoopState>
    private let riskCount = Atomic<Int>(0)

    /// Makes a guard.
    ///
    /// - Parameters:
    ///   - me: identities that only this device writes as: a thing, or a user with one device.
    ///   - writesAs: identities that this device writes as, and others too, such as a user with several devices; their
    ///     messages pass, but for the events of announced writes.
    ///   - settings: the layers that are on, and their numbers.
    ///   - breakers: keeps the breakers that are open, for the next process; it is read here, and belongs to this guard
    ///     alone. Without one they are lost with the process.
    ///   - clock: a clock for use without a receiver; leave it out in a chain, whose receiver gives its own.
    public init(
        me: [Sender] = [], writesAs: [Sender] = [], settings: LoopSettings = .standard,
        breakers: (any BreakerStore)? = nil, clock: (any ReceiverClock)? = nil
    ) {
        self.clock = StageClock(clock)
        secret = breakers?.secret ?? .ofProcess
        let writer = breakers.map { BreakerWriter($0) }
        var state = LoopState(Identities(me: me, writesAs: writesAs), settings)
        if let writer {
            let tripped = writer.read()
            if clock == nil { state.tripped = tripped }
            state.breakers.restore(tripped, settings.rate, self.clock.now.nanoseconds)
        }
        self.writer = writer
        self.state = Mutex(state)
    }

    /// The layers that are on, and their numbers; a change applies from the next message on and resets nothing.
    public var settings: LoopSettings {
        get { state.withLock { $0.settings } }
        set {
            state.withLock { $0.settings = newValue }
            endHeldOfKilled()
        }
    }

    /// Changes who this device is.
    public func setIdentities(me: [Sender], writesAs: [Sender] = []) {
        let identities = Identities(me: me, writesAs: writesAs)
        state.withLock { $0.identities = identities }
    }

    package var hopLimit: Int? { state.withLock { $0.settings.layers.contains(.lineage) ? $0.settings.hops : nil } }

    package var judgesOwnBucket: Bool { state.withLock { $0.settings.layers.contains(.ownBucket) } }

    /// Who this device is, as it was last set.
    package var identities: (me: [Sender], writesAs: [Sender]) {
        state.withLock { ($0.identities.me, $0.identities.writesAs) }
    }

    // MARK: In the chain

    /// Drops what this device caused and what is switched off, and holds what exceeds its rate.
    public func admit(_ message: inout RoutedMessage) -> Verdict {
        let (verdict, hasChanges): (Verdict, Bool) = state.withLock { state in
            if let layer = state.layerThatEnds(&message, secret) { return (.drop(.looped(layer)), false) }
            return (state.judgeRoutes(&message, secret), state.breakers.hasChanges)
        }
        if hasChanges { writeChanges() }
        return verdict
    }

    /// Subtracts a message that was not handled from its counts.
    public func settle(_ message: RoutedMessage, _ outcome: Outcome) {
        let isHandled = if case .handled = outcome { true } else { false }
        if isHandled, !message.isSpecial { return }
        let handled: MatchedRoutes =
            switch outcome {
            case .handled(let routes): routes
            case .failed(let failure) where failure.isStage: failure.handled
            // Its handlers ran, and may have written before they failed, or before one was about to write or to send
            // on.
            case .failed, .looped(.ownBucket), .looped(.lineage): message.routes
            default: MatchedRoutes()
            }
        let failed = message.counted.filter { route in !handled.contains { $0 === route } }
        guard !failed.isEmpty else { return }
        changeBreakers { breakers in
            for route in failed {
                let keys = RateKeys(message.message, at: message.place, for: route, secret)
                if !message.bypass.isFrom(keys) { breakers.takeBack(keys) }
            }
        }
    }

    /// Takes back what was counted of a message that waits, since a later stage stopped the routes that it was counted
    /// for.
    public func hold(_ message: RoutedMessage) { settle(message, .unrouted(.noRoute)) }

    // MARK: Kill switch

    /// Switches a target off, until `duration` is over or ``revive(_:)`` is called; of two kills, the later end counts.
    ///
    /// Messages that are held for the target are dead-lettered at once, and can be replayed from there.
    public func kill(_ target: KillTarget, for duration: Duration) {
        let end = clock.now.advanced(by: duration)
        state.withLock { $0.killSwitch.kill(target, until: end) }
        endHeldOfKilled()
    }

    /// Switches a target on again; does nothing if it is not off.
    public func revive(_ target: KillTarget) { state.withLock { $0.killSwitch.revive(target) } }

    /// Replaces the kills of an external list, such as a watched file.
    ///
    /// Targets that ``kill(_:for:)`` switched off stay off.
    ///
    /// - Parameter kills: each target with the time for which it is to stay off from now on.
    public func setKills(_ kills: [KillTarget: Duration]) {
        let now = clock.now
        state.withLock { $0.killSwitch.setList(kills.mapValues { now.advanced(by: $0) }) }
        endHeldOfKilled()
    }

    /// The targets that are switched off now.
    public var killed: Set<KillTarget> { Set(killedUntil.keys) }

    /// The targets that are switched off now, each with its end.
    public var killedUntil: [KillTarget: MonotonicInstant] {
        let now = clock.now
        return state.withLock { $0.killSwitch.targets(at: now) }
    }

    /// The routes of a message that the kill switch stops now, and whether it stops the message as a whole.
    package func kills(of message: RoutedMessage, _ routes: some Sequence<Route>) -> (isWhole: Bool, routes: [String]) {
        let now = clock.now
        return state.withLock { state in
            guard !state.killSwitch.isIdle, state.settings.layers.contains(.killSwitch) else { return (false, []) }
            let kills = ActiveKills(state.killSwitch.targets(at: now).keys)
            if kills.stop(message.message, app: message.app) { return (true, routes.map(\.id)) }
            let killed = routes.map(\.id).filter { kills.stop(route: $0) }
            return (!killed.isEmpty && routes.allSatisfy { kills.stop(route: $0.id) }, killed)
        }
    }

    private func endHeldOfKilled() {
        let now = clock.now
        let ended: [HeldMessage] = state.withLock { state in
            guard state.settings.layers.contains(.killSwitch), !state.killSwitch.isIdle else { return [] }
            let kills = ActiveKills(state.killSwitch.targets(at: now).keys)
            // No look at the keeper here: to be the last to let go of one would take this lock again.
            return state.breakers.removeHeld { held in
                kills.stop(held.message, app: held.routed.app) || held.routes.allSatisfy(kills.stop(route:))
            }
        }
        for held in ended {
            if let keeper = held.keeper {
                keeper.putAside(held, .killSwitch)
            } else {
                held.abandon()
            }
        }
    }

    // MARK: Own writes

    package func announce(
        _ object: KiiObject, _ change: ObjectChange = .fields, since: MonotonicInstant? = nil,
        for messageID: UInt64? = nil
    ) -> OwnWrite {
        let key = ResourceKey(object, secret)
        let now = clock.now
        let number = state.withLock { state in
            state.writes.announce(
                key, change, since: since ?? now, until: now.advanced(by: state.settings.echo), now: now)
        }
        return OwnWrite(watch: self, key: key, number: number, messageID: messageID)
    }

    package func complete(_ write: OwnWrite, modifiedAt: Int64?) {
        guard let key = write.key else { return }
        let (now, number, messageID) = (clock.now, write.number, write.messageID)
        state.withLock { state in
            let isExpected = state.writes.complete(number, of: key, modifiedAt: modifiedAt, now: now)
            if let modifiedAt, let messageID {
                state.stamps.wrote(key, modifiedAt, for: messageID, hasEvent: !isExpected, now: now)
            }
        }
    }

    /// The present moment on the guard's clock.
    package var now: MonotonicInstant { clock.now }

    package func withdraw(_ write: OwnWrite) {
        guard let key = write.key else { return }
        state.withLock { _ = $0.writes.remove(write.number, of: key) }
    }

    /// Calls `listener` with each expected write that could start a loop.
    ///
    /// Several listeners, up to 64, are called one after the other, by the handler's task, before the write happens;
    /// keep them short. ``risks`` counts the risks whether or not there is a listener.
    ///
    /// - Parameter listener: called once for each risk.
    /// - Returns: a token to remove the listener with; drop it to keep the listener.
    @discardableResult
    public func onRisk(_ listener: @escaping @Sendable (LoopRisk) -> Void) -> ListenerToken {
        let number = state.withLock { $0.listeners.add(listener) }
        return ListenerToken { [weak self] in self?.state.withLock { $0.listeners.remove(number) } }
    }

    /// How many expected writes could start a loop.
    public var risks: Int { riskCount.load(ordering: .relaxed) }

    package func report(_ risk: LoopRisk) {
        riskCount.add(1, ordering: .relaxed)
        state.withLock { $0.listeners.call }?(risk)
    }

    /// The name under which handlers here begin a lineage: this device's first identity, else one of the process.
    package var origin: String {
        // An id that a stamp cannot carry is no better than none.
        state.withLock { $0.identities.first }.flatMap { Lineage.canName($0) ? $0 : nil } ?? nameless.description
    }

    /// How many keys of the rate layer, and how many expected writes, were forgotten because of the bounds.
    public var forgottenEarly: Int { state.withLock { $0.breakers.forgottenEarly + $0.writes.givenUp } }
}

extension LoopGuard: ClockedMiddleware {
    func attached(to clock: any ReceiverClock) -> any Middleware {
        guard self.clock.attach(clock, to: name) else { return self }
        let now = clock.now.nanoseconds
        state.withLock { state in
            // They were restored by the system's clock, for want of another one.
            guard !state.tripped.isEmpty else { return }
            state.breakers = RateBreakers()
            state.breakers.restore(state.tripped, state.settings.rate, now)
            state.tripped = []
        }
        return self
    }
}

// MARK: Held messages

extension LoopGuard {
    /// A number for the next held message, and a promised place for it; nil when there is none left.
    package func promise(_ breaker: BreakerID, bytes: Int) -> UInt64? {
        state.withLock { state in
            guard state.breakers.promise(breaker, bytes: bytes) else { return nil }
            state.lastHeld += 1
            return state.lastHeld
        }
    }

    /// The breakers that are not closed.
    var tripped: [BreakerID] { state.withLock { $0.breakers.tripped } }

    /// The most that is held; a smaller limit drops nothing that is held already.
    var heldBudget: HeldBudget {
        get { state.withLock { $0.breakers.budget } }
        set { state.withLock { $0.breakers.budget = newValue } }
    }

    package func hold(_ message: HeldMessage, _ breaker: BreakerID) {
        changeBreakers { $0.hold(message, breaker) }
    }

    /// The messages that are held, oldest first.
    public var held: [HeldMessage] { state.withLock { $0.breakers.held } }

    /// When the next held message is due; nil when none is.
    ///
    /// A time in the past means that one is due now.
    public var nextDue: MonotonicInstant? {
        state.withLock { $0.breakers.nextDue }.map { MonotonicInstant(nanoseconds: $0) }
    }

    /// Takes the oldest message out that a breaker holds, if it is an older change of the same object for the same
    /// routes.
    func takeOlder(of message: RoutedMessage, from breaker: BreakerID) -> HeldMessage? {
        guard let object = message.message.object else { return nil }
        let routes = message.held.ids
        return state.withLock { state in
            // Among the oldest only: to look through all of a full queue for each message would take too long.
            state.breakers.takeHeld(of: breaker, amongOldest: 64) { held in
                held.message.object == object && held.routes.elementsEqual(routes) { $0.isExactly($1) }
            }
        }
    }

    func takeDue() -> (message: HeldMessage, breaker: BreakerID)? {
        let now = clock.now.nanoseconds
        return changeBreakers { $0.takeDue(now) }
    }

    package func turnEnded(_ breaker: BreakerID) {
        let now = clock.now.nanoseconds
        changeBreakers { $0.turnEnded(breaker, now) }
    }

    package func removeHeld(where condition: @Sendable (HeldMessage) -> Bool) -> [HeldMessage] {
        state.withLock { $0.breakers.removeHeld(where: condition) }
    }
}

// MARK: What survives the process

extension LoopGuard {
    /// How often the store of breakers threw; above zero, it is or was failing.
    public var storeFailures: Int { writer?.failures ?? 0 }

    /// Tells the store again what it could not be told, if its pause is over; for whoever drives held messages.
    package func tellStoreAgain() {
        if writer != nil, state.withLock({ $0.breakers.hasWaitingChanges }) { writeChanges() }
    }

    /// Why the store threw the last time; nil when that was asked for already.
    package func takeStoreFailure() -> (any Error)? { writer?.takeFailure() }

    /// Does something to the breakers, and has the store told what has changed by it.
    private func changeBreakers<Result: Sendable>(_ body: (inout RateBreakers) -> Result) -> Result {
        let (result, hasChanges) = state.withLock { (body(&$0.breakers), $0.breakers.hasChanges) }
        if hasChanges { writeChanges() }
        return result
    }

    /// Tells the store what has changed; of several threads that come at once, the one that writes does it for all.
    ///
    /// Without the lock, since it may wait for the disk: nobody else waits meanwhile.
    // Never inlined: nearly no message comes here.
    @inline(never)
    func writeChanges() {
        guard let writer else { return }
        repeat {
            let now = clock.now
            switch writer.begin(now) {
            case .isBusy: return
            case .later: return state.withLock { $0.breakers.postponeChanges() }
            case .write:
                let isWritten = writer.write(state.withLock { $0.breakers.takeChanges() }, now)
                state.withLock { $0.breakers.changesEnded(isWritten: isWritten) }
                writer.end()
            }
        } while state.withLock { $0.breakers.hasChanges }
    }
}
