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
    var judgedAt: MonotonicInstant

    /// The app that the receiver serves; a payload that names none counts as that app's.
    public let app: String?

    /// The routes that take the message and have not been stopped, in order of declaration.
    public internal(set) var routes: MatchedRoutes

    /// Whether a route would have taken the message were it not ambiguous.
    private(set) var isTooAmbiguous: Bool

    /// Why the first stopped route was stopped; the outcome when no other route is left.
    private(set) var stopped: Stop?

    /// The routes that are stopped until the breaker of the first of them lets them go, and that breaker.
    private(set) var held = MatchedRoutes()
    private(set) var firstHold: Stop?

    /// What the message need not pass again, since it has waited or is replayed.
    var permit = Permit.none

    /// The routes for which the loop guard counted the message, and the breakers whose probe it is.
    var counted = MatchedRoutes()
    var probed: [RateBreakers.ID] = []

    /// What the deduplicator reserved, to be confirmed or undone.
    var lease: SeenLease?

    /// The message in flight that this one repeats.
    var first: FirstInFlight?

    /// What each stage said and how long it took, while someone listens.
    var recorder: TraceRecorder?

    /// Why a route is stopped.
    enum Stop: Hashable {
        case drop(DropReason)
        case hold(RateBreakers.ID)
    }

    init(
        _ message: PushMessage, id: UInt64, arrivedAt: MonotonicInstant, app: String?, match: RouteMatch
    ) {
        self.message = message
        self.id = id
        self.arrivedAt = arrivedAt
        judgedAt = arrivedAt
        self.app = app
        routes = match.routes
        isTooAmbiguous = match.isTooAmbiguous
    }

    /// Stops those routes that `condition` holds for; the others run, and if none is left the reason is the outcome.
    ///
    /// A stopped route still counts as the match: none that was declared after it takes its place.
    public mutating func stopRoutes(_ reason: DropReason, where condition: (Route) -> Bool) {
        for route in routes where condition(route) { stop(route, .drop(reason)) }
    }

    mutating func stop(_ route: Route, _ reason: Stop) {
        stopped = stopped ?? reason
        routes = MatchedRoutes(routes.filter { $0 !== route })
        if case .hold = reason {
            held.append(route)
            firstHold = firstHold ?? reason
        }
    }

    /// Begins anew with the routes that it was held for, as they are now.
    mutating func resume(_ match: RouteMatch, _ permit: Permit, now: MonotonicInstant, _ recorder: TraceRecorder?) {
        routes = match.routes
        isTooAmbiguous = match.isTooAmbiguous
        (stopped, firstHold) = (nil, nil)
        (held, counted, probed) = (MatchedRoutes(), MatchedRoutes(), [])
        self.permit = permit
        judgedAt = now
        self.recorder = recorder
    }

    /// Whether the message is of the receiver's app, as far as it says.
    var isOfApp: Bool {
        let named = message.storage.reading.app
        guard let app, named.isPresent else { return true }
        let buffer = message.storage.buffer
        return buffer.span.matches(named.range, app)
    }
}

/// What a message need not pass again.
enum Permit: Sendable {
    /// It is here for the first time.
    case none
    /// It was held by this breaker, whose turn it has; others may hold it.
    case breaker(RateBreakers.ID)
    /// Somebody let it go: no breaker holds it, and the deduplicator does not ask for it.
    case all

    /// Whether the breaker that a message was held by lets it pass.
    func isFrom(_ keys: RateKeys) -> Bool {
        switch self {
        case .none: false
        case .breaker(let breaker): breaker.key == (breaker.isWide ? keys.wide : keys.narrow)
        case .all: true
        }
    }
}
