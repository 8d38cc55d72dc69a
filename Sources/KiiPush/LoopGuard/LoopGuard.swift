import Synchronization

/// Stops loops: handlers that cause the very pushes that they handle.
///
/// A handler that writes to the bucket that it listens to can start a loop across the whole fleet. Put the guard second
/// in the chain, after ``Deduplicator``. It has five layers, each with its own reason and counter, and each can be
/// switched off in ``LoopSettings/layers``:
///
/// - *Identity* drops events that this device caused: the sender is one of `me`, the identities that only this device
///   writes as. Do not list a user with several devices, because the events of the other devices would be dropped too.
///   Payloads without a sender, such as any APNs Push to App, pass.
/// - *Echo* drops the event of a write that a handler declared with ``HandlerContext/willWrite(_:)``; ``OwnWrite`` says
///   which event that is.
/// - *Lineage* drops a message that has passed through more handlers than ``LoopSettings/hops``, according to its stamp
///   or that of its object; see ``Lineage``.
/// - *Rate* pauses a key that exceeds ``LoopSettings/rate``. The guard holds its messages for a few seconds and tests
///   whether handling them causes more; see <doc:LoopSafety>. It holds up to 16,384 messages or 8 MiB of a key, and
///   32,768 or 16 MiB in all; ``hold(of:)`` says why a message is held.
/// - *Kill switch*: ``kill(_:for:)`` stops the messages of a route, of a bucket, or all, including held ones, at once
///   and for a time, without a new release of the program.
///
/// Identity, echo, lineage, and a kill of a bucket or of everything judge the message; the rate and a kill of a route
/// judge each of its routes. All state is in memory and bounded. It survives changes of the settings and of the routes,
/// which it identifies by their ids. It does not survive a restart: a loop may then handle its first messages again.
public final class LoopGuard: Middleware, WriteWatch {
    private let clock: StageClock
    let secret = DedupeSecret.ofProcess
    /// Names this device in stamps if it has no identity; independent of the secret, because stamps are sent.
    private let nameless = DedupeKey(first: .random(in: 0 ... .max), second: .random(in: 0 ... .max))
    let state: Mutex<LoopState>
    private let riskCount = Atomic<Int>(0)

    /// Makes a guard.
    ///
    /// - Parameters:
    ///   - me: identities that only this device writes as: a thing, or a user with one device.
    ///   - writesAs: identities that this device shares with others, such as a user with several devices; their
    ///     messages pass, except the events of expected writes.
    ///   - settings: the layers that are on, and their numbers.
    ///   - clock: a clock for use without a receiver; leave it out in a chain, whose receiver sets its own.
    public init(
        me: [Sender] = [], writesAs: [Sender] = [], settings: LoopSettings = .standard,
        clock: (any ReceiverClock)? = nil
    ) {
        self.clock = StageClock(clock)
        state = Mutex(LoopState(Identities(me: me, writesAs: writesAs), settings))
    }

    /// The layers that are on, and their numbers; a change applies from the next message on and resets nothing.
    public var settings: LoopSettings {
        get { state.withLock { $0.settings } }
        set {
            state.withLock { $0.settings = newValue }
            endHeldOfKilled()
        }
    }

    /// Changes the identities of this device.
    public func setIdentities(me: [Sender], writesAs: [Sender] = []) {
        let identities = Identities(me: me, writesAs: writesAs)
        state.withLock { $0.identities = identities }
    }

    /// Changes settings and identities at once, so that no message is judged by one of them only.
    package func change(
        me: [Sender], writesAs: [Sender], _ settings: @Sendable (LoopSettings) -> LoopSettings
    ) {
        let identities = Identities(me: me, writesAs: writesAs)
        state.withLock { state in
            state.settings = settings(state.settings)
            state.identities = identities
        }
        endHeldOfKilled()
    }

    package var hopLimit: Int? { state.withLock { $0.settings.layers.contains(.lineage) ? $0.settings.hops : nil } }

    package var judgesOwnBucket: Bool { state.withLock { $0.settings.layers.contains(.ownBucket) } }

    /// The identities of this device, as they were last set.
    package var identities: (me: [Sender], writesAs: [Sender]) {
        state.withLock { ($0.identities.me, $0.identities.writesAs) }
    }

    // MARK: In the chain

    /// Drops messages that this device caused or that are switched off, and holds those that exceed their rate.
    public func admit(_ message: inout RoutedMessage) -> Verdict {
        state.withLock { state in
            if let layer = state.layerThatEnds(&message, secret) { return .drop(.looped(layer)) }
            return state.judgeRoutes(&message, secret)
        }
    }

    /// Subtracts a message that was not handled from its counts.
    public func settle(_ message: RoutedMessage, _ outcome: Outcome) {
        let isHandled = if case .handled = outcome { true } else { false }
        if isHandled, !message.isSpecial { return }
        let handled: MatchedRoutes =
            switch outcome {
            case .handled(let routes): routes
            case .failed(let failure) where failure.isStage: failure.handled
            // Its handlers ran, and may have written before one failed, or before a further write was refused.
            case .failed, .looped(.ownBucket), .looped(.lineage): message.routes
            default: MatchedRoutes()
            }
        let failed = message.counted.filter { route in !handled.contains { $0 === route } }
        guard !failed.isEmpty else { return }
        state.withLock { state in
            for route in failed {
                let keys = RateKeys(message.message, at: message.place, for: route, secret)
                if !message.bypass.isFrom(keys) { state.breakers.takeBack(keys) }
            }
        }
    }

    /// Subtracts a held message from the counts of routes that a later middleware stopped.
    public func hold(_ message: RoutedMessage) { settle(message, .unrouted(.noRoute)) }

    // MARK: Kill switch

    /// Switches a target off until `duration` is over or ``revive(_:)`` is called; of two kills, the later end counts.
    ///
    /// Messages that are held for the target are dead-lettered at once, and can be replayed.
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
    /// - Parameter kills: each target with the time that it stays off from now on.
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
            // The keeper must not be used here: releasing its last reference would take this lock again.
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
    /// Listeners, up to 64, are called one after another by the handler's task, before the write happens; keep them
    /// fast. ``risks`` counts the risks even without a listener.
    ///
    /// - Parameter listener: called once for each risk.
    /// - Returns: a token to remove the listener with; discard it to keep the listener.
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

    /// The origin of lineages that begin here: this device's first identity, else a name of the process.
    package var origin: String {
        // An id that a stamp cannot carry counts as none.
        state.withLock { $0.identities.first }.flatMap { Lineage.canName($0) ? $0 : nil } ?? nameless.description
    }

    /// How many keys of the rate layer, and how many expected writes, were forgotten because of the bounds.
    public var forgottenEarly: Int { state.withLock { $0.breakers.forgottenEarly + $0.writes.givenUp } }
}

extension LoopGuard: ClockedMiddleware {
    func attached(to clock: any ReceiverClock) -> any Middleware {
        self.clock.attach(clock, to: name)
        return self
    }
}

// MARK: Held messages

extension LoopGuard {
    /// Reserves a place for a held message, and returns its number; nil if no place is left.
    package func promise(_ breaker: BreakerID, bytes: Int) -> UInt64? {
        state.withLock { state in
            guard state.breakers.promise(breaker, bytes: bytes) else { return nil }
            state.lastHeld += 1
            return state.lastHeld
        }
    }

    /// The breakers that are not closed.
    var tripped: [BreakerID] { state.withLock { $0.breakers.tripped } }

    /// The most that is held; a smaller limit drops no held message.
    var heldBudget: HeldBudget {
        get { state.withLock { $0.breakers.budget } }
        set { state.withLock { $0.breakers.budget = newValue } }
    }

    package func hold(_ message: HeldMessage, _ breaker: BreakerID) {
        state.withLock { $0.breakers.hold(message, breaker) }
    }

    /// The messages that are held, oldest first.
    public var held: [HeldMessage] { state.withLock { $0.breakers.held } }

    /// When the next held message is due; nil if none is.
    ///
    /// A time in the past means now.
    public var nextDue: MonotonicInstant? {
        state.withLock { $0.breakers.nextDue }.map { MonotonicInstant(nanoseconds: $0) }
    }

    /// Removes an older change of the same object, for the same routes, from the messages that a breaker holds.
    func takeOlder(of message: RoutedMessage, from breaker: BreakerID) -> HeldMessage? {
        guard let object = message.message.object else { return nil }
        let routes = message.held.ids
        return state.withLock { state in
            // Only among the oldest: searching a full queue for each message would take too long.
            state.breakers.takeHeld(of: breaker, amongOldest: 64) { held in
                held.message.object == object && held.routes.elementsEqual(routes) { $0.isExactly($1) }
            }
        }
    }

    func takeDue() -> (message: HeldMessage, breaker: BreakerID)? {
        let now = clock.now.nanoseconds
        return state.withLock { $0.breakers.takeDue(now) }
    }

    package func turnEnded(_ breaker: BreakerID) {
        let now = clock.now.nanoseconds
        state.withLock { $0.breakers.turnEnded(breaker, now) }
    }

    package func removeHeld(where condition: @Sendable (HeldMessage) -> Bool) -> [HeldMessage] {
        state.withLock { $0.breakers.removeHeld(where: condition) }
    }
}
