import Synchronization

/// The built-in chain as one step, for the common case: one route matches the message, it is not a duplicate, it is not
/// held, and its scope is served.
///
/// It asks the same middlewares for the same decisions, by their types, and does not make a `RoutedMessage`. If one of
/// them needs more, the message takes the long way, starting at that middleware.
final class StandardLane: Sendable {
    private let store: InMemorySeenStore
    private let waiters: InFlightWaiters
    private let handledRoutes: HandledRoutes
    let loopGuard: LoopGuard
    private let filter: ScopeFilter
    private let secret: DedupeSecret

    /// The number of middlewares.
    static let stages = 3

    /// Nil unless the chain is the three built-in middlewares in order, with default keys, a store in memory, and one
    /// secret.
    init?(_ middleware: [any Middleware]) {
        guard middleware.count == Self.stages, let deduplicator = middleware[0] as? Deduplicator,
            let loopGuard = middleware[1] as? LoopGuard, let filter = middleware[2] as? ScopeFilter,
            let store = deduplicator.leases.store as? InMemorySeenStore, deduplicator.keys.isAutomatic,
            deduplicator.secret == loopGuard.secret
        else { return nil }
        self.store = store
        waiters = deduplicator.leases.waiters
        handledRoutes = deduplicator.handledRoutes
        self.loopGuard = loopGuard
        self.filter = filter
        secret = deduplicator.secret
    }

    /// The decision of the middlewares about a message.
    enum Answer {
        /// All of them admit it.
        case pass(Admission)
        /// It was handled within the window.
        case duplicate
        /// It takes the long way, from the middleware that it has reached.
        indirect case longWay(Rest)
    }

    /// The only route that an admitted message matches, and the lease under which it is handled.
    // Not a tuple, which would be destroyed by its type at run time.
    struct Admission {
        let route: Route
        let lease: SeenLease
    }

    /// The progress of a message that takes the long way.
    struct Rest {
        var passed = 0
        var lease: SeenLease?
        var place: ResourceDigest?
        var hold: BreakerID?
        var isCounted = false
        /// The only route that matches it, if the table was asked.
        var route: Route?
    }

    /// Asks all middlewares about a message.
    ///
    /// - Parameters:
    ///   - storage: the message.
    ///   - text: the storage's buffer.
    ///   - table: the routes.
    ///   - app: the app that is served.
    ///   - arrivedAt: when it arrived.
    ///   - now: the current time.
    ///   - ended: a message that was handled by `now`, which is recorded in the store at the same time.
    /// - Returns: the decision.
    @inline(__always)
    func admit(
        _ storage: MessageStorage, _ text: Span<UInt8>, _ table: RouteTable, app: String?,
        arrivedAt: MonotonicInstant, now: MonotonicInstant, ended: SeenLease? = nil
    ) -> Answer {
        let classified = storage.classified
        let hasKeys = classified.hasObject || classified.hasTopic && classified.senderKind != .none
        guard storage.certainty != .ambiguous, hasKeys, handledRoutes.count == 0, waiters.untold.count == 0,
            let place = ResourceDigest(of: storage, text, secret)
        else { return longWay(ended, now) }
        let number = table.onlyMatch(storage, text)
        guard number >= 0 else { return longWay(ended, now) }
        let route = table.routes[number]
        guard let keys = PushMessage(storage: storage).placedKeys(app, text, secret, at: place) else {
            return longWay(ended, now)
        }
        let state = store.state.withLock { state in
            if let ended { state.commit(ended, now) }
            return state.begin(keys, arrivedAt)
        }
        if let ended { waiters.finish(ended, .accept) }
        guard case .fresh(let lease) = state else {
            return state == .done ? .duplicate : .longWay(Rest(place: place, route: route))
        }
        let arrival = Arrival(time: arrivedAt.nanoseconds, now: now.nanoseconds, kind: storage.arrivalKind)
        let judged = loopGuard.judgePlain(storage, place, route, arrival)
        guard let judged else { return .longWay(Rest(passed: 1, lease: lease, place: place, route: route)) }
        if judged == .pass, filter.refusal(of: storage, text, app: app) == nil {
            return .pass(Admission(route: route, lease: lease))
        }
        return afterGuard(judged, lease, place, route)
    }

    @inline(never)
    private func longWay(_ ended: SeenLease?, _ now: MonotonicInstant) -> Answer {
        if let ended { commit(ended, now) }
        return .longWay(Rest())
    }

    @inline(never)
    private func afterGuard(
        _ answer: RateBreakers.Answer, _ lease: SeenLease, _ place: ResourceDigest, _ route: Route
    ) -> Answer {
        var rest = Rest(passed: 2, lease: lease, place: place, isCounted: loopGuard.countsRate, route: route)
        if case .hold(let breaker) = answer { rest.hold = breaker }
        return .longWay(rest)
    }

    /// Records that a message was handled.
    @inline(__always)
    func commit(_ lease: SeenLease, _ now: MonotonicInstant) {
        store.state.withLock { $0.commit(lease, now) }
        if handledRoutes.count > 0 { handledRoutes.remove(lease) }
        waiters.finish(lease, .accept)
    }
}

extension LoopGuard {
    /// Judges a message for its only route if no layer but the rate applies; nil if another may apply.
    @inline(__always)
    fileprivate func judgePlain(
        _ storage: MessageStorage, _ place: ResourceDigest, _ route: Route, _ arrival: Arrival
    ) -> RateBreakers.Answer? {
        state.withLock { $0.judgePlain(storage, place, route, arrival) }
    }

    fileprivate var countsRate: Bool { state.withLock { $0.countsRate } }
}

// MARK: A message on the lane

extension PushReceiver {
    /// The next step for a message after the middlewares were asked.
    enum LaneStart {
        /// All middlewares admit it, under this lease.
        case handle(HandlerContext, SeenLease)
        case end(Outcome)
        /// It takes the long way, from the middleware with this index.
        indirect case longWay(RoutedMessage, passed: Int)
    }

    /// Decodes a payload, looks up its route, and asks the middlewares in one step.
    @inline(never)
    func start(_ lane: StandardLane, _ payload: consuming RawPayload) -> LaneStart {
        let (table, listener) = currentSetup()
        if listener != nil {
            do throws(DecodeError) {
                return .longWay(try prepare(payload), passed: 0)
            } catch {
                return .end(.undecodable(error))
            }
        }
        let id = nextID()
        // Read before the message consumes the payload, which saves a copy of it.
        let arrival = payload.arrivedAt
        let storage: MessageStorage
        do throws(DecodeError) {
            storage = try MessageStorage(payload, limits: limits, app: nil)
        } catch {
            end(nil, error, id, nil)
            return .end(.undecodable(error))
        }
        let now = clock.now
        let buffer = storage.buffer
        switch lane.admit(storage, buffer.span, table, app: app, arrivedAt: arrival ?? now, now: now) {
        case .pass(let admission):
            let context = HandlerContext(
                PushMessage(storage: storage), id: id, arrivedAt: arrival ?? now, admission.route, lane.loopGuard)
            return .handle(context, admission.lease)
        case .duplicate: return .end(countDuplicate())
        case .longWay(let rest):
            return .longWay(continued(rest, storage, id, arrival ?? now, now, table), passed: rest.passed)
        }
    }

    /// A message for the long way, with its progress so far.
    @inline(never)
    func continued(
        _ rest: StandardLane.Rest, _ storage: MessageStorage, _ id: UInt64, _ arrivedAt: MonotonicInstant,
        _ now: MonotonicInstant, _ table: RouteTable
    ) -> RoutedMessage {
        let match = rest.route.map { RouteMatch(routes: MatchedRoutes(only: $0)) } ?? table.match(storage)
        var message = RoutedMessage(
            PushMessage(storage: storage), id: id, arrivedAt: arrivedAt, admittedAt: now, app: app, match: match)
        message.lease = rest.lease
        message.place = rest.place
        if let breaker = rest.hold, let route = message.routes.first { message.stop(route, .hold(breaker)) }
        message.isCounted = rest.isCounted
        return message
    }

    /// Ends a message that was handled before; no middleware admitted it.
    func countDuplicate() -> Outcome {
        counters.count(.duplicate(.done))
        return .duplicate(.done)
    }

    /// Ends a message that was handled.
    @inline(__always)
    func finish(_ context: HandlerContext, _ lease: SeenLease, _ lane: StandardLane) -> Outcome {
        context.matched.handled.add(1, ordering: .relaxed)
        lane.commit(lease, clock.now)
        counters.countHandled()
        return .handled(MatchedRoutes(only: context.matched))
    }

    /// Ends a message whose handler threw, as the long way does.
    @inline(never)
    func fail(_ context: HandlerContext, _ lease: SeenLease, _ lane: StandardLane, _ error: any Error) -> Outcome {
        context.matched.failed.add(1, ordering: .relaxed)
        var message = RoutedMessage(
            context.message, id: context.messageID, arrivedAt: context.arrivedAt, app: app,
            match: RouteMatch(routes: MatchedRoutes(only: context.matched)))
        message.lease = lease
        message.isCounted = lane.loopGuard.countsRate
        let outcome = Outcome.thrown(error, by: context.matched)
        end(message, outcome, .passed(StandardLane.stages))
        return outcome
    }
}
