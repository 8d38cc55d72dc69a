/// A message on its way through the chain, with the routes that take it.
///
/// Routes are looked up before the chain, from message and table alone, so that a stage can judge each of them.
public struct RoutedMessage: Sendable {
    /// The message.
    public let message: PushMessage

    /// The message's number in its receiver, for a middleware that keeps something from `admit` to `settle`.
    public let id: UInt64

    /// When the payload arrived, on the receiver's clock.
    public let arrivedAt: MonotonicInstant

    /// When the chain judges it: when it arrived, unless it had to wait since.
    package var admittedAt: MonotonicInstant

    /// The app that the receiver serves; a payload that names none counts as that app's.
    public let app: String?

    /// The routes that take the message and have not been stopped, in order of declaration.
    public package(set) var routes: MatchedRoutes

    /// Whether a route would have taken the message were it not ambiguous.
    package private(set) var isTooAmbiguous: Bool

    /// Whether the loop guard has counted it for its routes.
    package var isCounted = false

    /// Whether its payload lies on disk; known while it is held.
    package var isStored = false

    /// How often its handlers are being run, this time included.
    package var attempt: UInt32 = 1

    /// What is known of the few that are stopped, held or released: none, or one.
    ///
    /// An array, so that the many others carry one empty reference and not ten fields.
    private var special: [Special] = []

    /// Where it belongs, as the deduplicator digested it.
    package var place: ResourceDigest?

    /// What the deduplicator reserved, to be confirmed or undone.
    package var lease: SeenLease?

    /// The message in flight that this one repeats.
    package var first: FirstInFlight?

    /// What each stage said and how long it took, while someone listens.
    package var recorder: TraceRecorder?

    /// Whether the message is of the receiver's app, as far as it says.
    package var isOfApp: Bool {
        let named = message.storage.classified.app
        guard let app, named.isPresent else { return true }
        let buffer = message.storage.buffer
        return buffer.span.matches(named.range, app)
    }
}

extension RoutedMessage {
    // By the initialiser of all members: one that sets them one by one ends with a copy of the whole (measured: 400
    // instructions, and twelve changes of reference counts).
    package init(
        _ message: PushMessage, id: UInt64, arrivedAt: MonotonicInstant, admittedAt: MonotonicInstant? = nil,
        app: String?, match: RouteMatch, recorder: TraceRecorder? = nil
    ) {
        self.init(
            message: message, id: id, arrivedAt: arrivedAt, admittedAt: admittedAt ?? arrivedAt, app: app,
            routes: match.routes, isTooAmbiguous: match.isTooAmbiguous, recorder: recorder)
    }

    /// Why a route is stopped.
    package enum Stop: Hashable {
        case drop(DropReason)
        case hold(BreakerID)
    }

    private struct Special {
        var stopped: Stop?
        var firstHold: BreakerID?
        var held = MatchedRoutes()
        var countedAndStopped = MatchedRoutes()
        var bypass = AdmissionBypass.none
        var isReplayed = false
    }

    /// Whether it is stopped, held or released.
    package var isSpecial: Bool { !special.isEmpty }

    /// Why the first stopped route was stopped; the outcome when no other route is left.
    package var stopped: Stop? { special.first?.stopped }

    /// The routes that are stopped until a breaker lets them go.
    package var held: MatchedRoutes { special.first?.held ?? MatchedRoutes() }

    /// Whether there are such routes.
    package var hasHeld: Bool { special.first?.firstHold != nil }

    /// The breaker of the first of them.
    package var firstHold: BreakerID? { special.first?.firstHold }

    /// What the message need not pass again, since it has waited or is replayed.
    package var bypass: AdmissionBypass { special.first?.bypass ?? .none }

    /// Whether somebody replays it from the dead letters, so that its age does not count.
    package var isReplayed: Bool { special.first?.isReplayed ?? false }

    /// The routes for which the loop guard counted the message, whether or not a later stage stopped them.
    package var counted: [Route] {
        isCounted
            ? routes.filter { !$0.isUnlimited } + (special.first?.countedAndStopped.map { $0 } ?? []) : []
    }

    /// Stops those routes that `condition` holds for; the others run, and if none is left the reason is the outcome.
    ///
    /// A stopped route still counts as the match: none that was declared after it takes its place.
    public mutating func stopRoutes(_ reason: DropReason, where condition: (Route) -> Bool) {
        for route in routes where condition(route) { stop(route, .drop(reason)) }
    }

    package mutating func stop(_ route: Route, _ reason: Stop) {
        routes = MatchedRoutes(routes.filter { $0 !== route })
        let isCounted = isCounted
        change { special in
            special.stopped = special.stopped ?? reason
            guard case .hold(let breaker) = reason else {
                if isCounted, !route.isUnlimited { special.countedAndStopped.append(route) }
                return
            }
            special.held.append(route)
            special.firstHold = special.firstHold ?? breaker
        }
    }

    /// Lets it pass what it need not pass again.
    package mutating func bypass(_ bypass: AdmissionBypass) { change { $0.bypass = bypass } }

    /// Lets it pass all that somebody who replays it has decided on: what it repeats, what holds it, and its age.
    package mutating func replay() { change { ($0.bypass, $0.isReplayed) = (.all, true) } }

    /// Begins anew with the routes that it was held for, as they are now.
    package mutating func resume(
        _ match: RouteMatch, _ bypass: AdmissionBypass, now: MonotonicInstant, _ recorder: TraceRecorder?
    ) {
        routes = match.routes
        isTooAmbiguous = match.isTooAmbiguous
        isCounted = false
        special = [Special(bypass: bypass)]
        admittedAt = now
        self.recorder = recorder
        recorder?.take(match.routes)
    }

    /// Begins anew with the routes as they are now, before the chain judges it.
    package mutating func restart(_ match: RouteMatch, now: MonotonicInstant) {
        routes = match.routes
        isTooAmbiguous = match.isTooAmbiguous
        isCounted = false
        special = []
        (lease, first) = (nil, nil)
        admittedAt = now
    }

    /// Forgets what was counted, which is settled when it is held: its end must not take it back again.
    package mutating func forgetCounts() {
        isCounted = false
        change { $0.countedAndStopped = MatchedRoutes() }
    }

    private mutating func change(_ body: (inout Special) -> Void) {
        if special.isEmpty { special.append(Special()) }
        body(&special[0])
    }
}

/// What a message need not pass again.
package enum AdmissionBypass: Sendable {
    /// It is here for the first time.
    case none
    /// It is known to be no repetition, though the seen store knows it: the deduplicator does not ask.
    case seen
    /// It was held by this breaker, whose turn it has; others may hold it.
    case breaker(BreakerID)
    /// Somebody let it go: no breaker holds it, and the deduplicator does not ask for it.
    case all
}
