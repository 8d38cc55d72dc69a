import Synchronization

/// Stops loops: handlers that cause the very pushes that they handle.
///
/// A handler that writes to the bucket that it listens to can start a loop across the whole fleet. Put the guard second
/// in the chain, after ``Deduplicator``. It has six layers, each of which can be switched off in
/// ``LoopSettings/layers``. A message that one of them ends has the outcome ``Outcome/looped(_:)`` with that layer, and
/// a count of its own in ``PushReceiver/metrics``; a message that the pace lets wait has ``Outcome/paced(until:)``.
///
/// - *Identity* drops events whose sender is one of `me`, the identities that only this device writes as: not a user
///   with several devices. Payloads without a sender, such as any APNs Push to App, pass.
/// - *Echo* drops the event of a write that a handler declared, see
///   ``HandlerContext/writing(_:changing:_:)``; ``OwnWrite`` says which event that is.
/// - *Lineage* drops a message that has passed through more handlers than ``LoopSettings/hops``, according to its stamp
///   or that of its object; see ``Lineage``.
/// - *Pace* lets messages wait: a key of which more than 20 come at once is not handled for some seconds, to see if its
///   messages come by themselves; see <doc:LoopSafety>. Nothing is dropped, except that the newest change of an object
///   may replace older ones that wait. ``paced`` shows the keys whose messages wait.
/// - *Kill switch*: ``kill(_:for:)`` stops the messages of a route, of a bucket, or all, including those that wait, for
///   a time and without a new release of the program.
/// - *Own bucket* ends the message of a handler that is about to write to a bucket that its own route listens to, if
///   the route refuses that: ``RouteOptions/OwnBucket-swift.enum``.
///
/// All state is in memory, and survives changes of the settings and of the routes, but no restart: a key may then
/// handle 20 more at once, and has a new allowance. It is bounded:
/// - 10,000 declared writes wait for their events; beyond that, the oldest is forgotten, and its event is handled.
/// - 1,024 stamps that handlers found in objects are known; beyond that, the oldest is forgotten.
/// - 16,384 keys and 4,096 routes have a pace; beyond that, one for which nothing waits is forgotten, and if eight in
///   a row wait, a further key has only the pace of new keys, and a further route none.
/// - 4,096 routes have a budget of declared writes; at a further one, all budgets begin anew.
/// - 1,024 targets are off by ``kill(_:for:)``; beyond that, the one that would end first is on again.
public final class LoopGuard: Middleware, WriteWatch {
    let clock: MiddlewareClock
    /// Names this device in stamps if it has no identity; independent of the secret, because stamps are sent.
    private let nameless = DedupeKey(first: .random(in: 0 ... .max), second: .random(in: 0 ... .max))
    private let state: Mutex<LoopState>
    private let riskListeners = Listeners<LoopRisk>()
    private let paceListeners = Listeners<PacedKey>()

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
        self.clock = MiddlewareClock(clock)
        state = Mutex(LoopState(identities: Identities(me: me, writesAs: writesAs), settings: settings))
    }

    /// The layers that are on, and their numbers; a change applies from the next message on and resets nothing.
    public var settings: LoopSettings {
        get { state.withLock { $0.settings } }
        set { state.withLock { $0.settings = newValue } }
    }

    /// Changes settings and identities at once, so that no message is judged by one of them only.
    package func change(me: [Sender], writesAs: [Sender], _ settings: @Sendable (LoopSettings) -> LoopSettings) {
        state.withLock { state in
            (state.settings, state.identities) = (settings(state.settings), Identities(me: me, writesAs: writesAs))
        }
    }

    /// The identities of this device, as they were last set.
    package var identities: Identities { state.withLock { $0.identities } }

    // MARK: In the chain

    /// Drops messages that this device caused or that are switched off, and lets those wait that exceed their pace.
    public func admit(_ message: inout RoutedMessage) -> Verdict {
        let (verdict, news) = state.withLock { state in
            (state.judge(&message) { clock.wallNow }, state.paces.takeNews())
        }
        for key in news { paceListeners.call(key) }
        return verdict
    }

    /// Records the arrival of a message that a service accepts, or has accepted before and takes up again: it waits in
    /// its lane from now on.
    package func hear(_ message: inout RoutedMessage, isAgain: Bool = false) {
        state.withLock { $0.hear(&message, isInLane: true, isAgain: isAgain) }
    }

    /// Records that a message that was heard no longer waits: it ended without asking, or waits outside of memory.
    package func forget(_ message: RoutedMessage) {
        if message.heard == .no { return }
        var message = message
        state.withLock { $0.paces.leave(&message) }
    }

    /// Whether the newest change of a message's object should take the place of older ones that wait.
    package func takesNewest(_ message: RoutedMessage) -> Bool { state.withLock { $0.paces.takesNewest(message) } }

    /// Gives back what a message that was not handled took from its keys' paces.
    public func settle(_ message: RoutedMessage, _ outcome: Outcome) {
        switch outcome {
        case .refused, .expired, .superseded, .paced: break
        case .failed(let failure) where failure.isMiddleware && failure.handled.isEmpty: break
        default: return
        }
        if message.isCounted { state.withLock { $0.paces.giveBack(message) } }
    }

    /// The keys whose messages wait now, those that wait longest first.
    public var paced: [PacedKey] {
        let now = clock.now.seconds
        return state.withLock { $0.paces.paced(now) + $0.budgets.paced(now) }.sorted { $0.since < $1.since }
    }

    /// Calls `listener` when messages of a key begin to wait, at most once a minute for each key.
    @discardableResult
    public func onPaced(_ listener: @escaping @Sendable (PacedKey) -> Void) -> ListenerToken {
        paceListeners.add(listener)
    }

    // MARK: Kill switch

    /// Switches a target off until `duration` is over or ``revive(_:)`` is called; of two kills, the later end counts.
    ///
    /// Messages that wait in a service when the target is switched off are dead-lettered when their turn comes, and can
    /// be replayed.
    public func kill(_ target: KillTarget, for duration: Duration) {
        let end = clock.now.advanced(by: duration)
        state.withLock { $0.killSwitch.kill(target, until: end) }
    }

    /// Switches a target on again; does nothing if it is not off.
    public func revive(_ target: KillTarget) { state.withLock { $0.killSwitch.revive(target) } }

    /// Replaces the kills of an external list, such as a watched file.
    ///
    /// Targets that ``kill(_:for:)`` switched off stay off.
    ///
    /// - Parameter kills: each target with the time that it stays off from now on.
    package func setKills(_ kills: [KillTarget: Duration]) {
        let now = clock.now
        state.withLock { $0.killSwitch.setList(kills.mapValues { now.advanced(by: $0) }) }
    }

    /// The targets that are switched off now.
    package var killed: Set<KillTarget> { Set(killedUntil.keys) }

    /// The targets that are switched off now, each with its end.
    public var killedUntil: [KillTarget: MonotonicInstant] {
        let now = clock.now
        return state.withLock { $0.killSwitch.targets(at: now) }
    }

    /// Those of a message's routes that the kill switch stops now.
    package func kills(of message: RoutedMessage, _ routes: some Sequence<Route>) -> [String] {
        let now = clock.now
        return state.withLock { state in
            guard state.isOn(.killSwitch), !state.killSwitch.isIdle(at: now) else { return [] }
            return state.killSwitch.stops(message, routes, at: now).routes.map(\.id)
        }
    }

    // MARK: What handlers write

    var now: MonotonicInstant { clock.now }

    func report(_ risk: LoopRisk) { riskListeners.call(risk) }

    package func announce(
        _ object: KiiObject, _ change: ObjectChange = .fields, since: MonotonicInstant? = nil
    ) -> OwnWrite {
        let (key, now) = (ResourceKey(object, .ofProcess), clock.now)
        let number = state.withLock { state in
            state.writes.announce(
                key, change, since: since ?? now, until: now.advanced(by: state.settings.echo), now: now)
        }
        return OwnWrite(expected: (self, key, number))
    }

    func complete(_ number: UInt64, of key: ResourceKey, modifiedAt: Int64?) {
        let now = clock.now
        state.withLock { $0.writes.complete(number, of: key, modifiedAt: modifiedAt, now: now) }
    }

    func withdraw(_ number: UInt64, of key: ResourceKey) { state.withLock { $0.writes.remove(number, of: key) } }

    func spendWrite(of route: String, for messageID: UInt64) throws(WriteBudgetSpent) {
        let now = clock.now.seconds
        let refusal = state.withLock { $0.isOn(.pace) ? $0.budgets.spend(route, for: messageID, now) : nil }
        guard let refusal else { return }
        if let news = refusal.news { paceListeners.call(news) }
        throw WriteBudgetSpent(route: route, endsAt: MonotonicInstant(seconds: refusal.endsAt))
    }

    /// Calls `listener` with each expected write that could start a loop, before the write happens.
    @discardableResult
    public func onRisk(_ listener: @escaping @Sendable (LoopRisk) -> Void) -> ListenerToken {
        riskListeners.add(listener)
    }

    // MARK: Stamps

    var origin: String {
        // An id that a stamp cannot carry counts as none.
        state.withLock { $0.identities.me.first?.id }.flatMap { Lineage.canName($0) ? $0 : nil } ?? nameless.description
    }

    func isCurrent(_ stamp: Lineage, _ modifiedAt: Int64) -> Bool {
        state.withLock { $0.stamps.isCurrent(stamp, modifiedAt) }
    }
}
