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

    /// The app that the receiver serves; a payload that names none counts as that app's.
    public let app: String?

    /// The routes that take the message and have not been stopped, in order of declaration.
    public internal(set) var routes: MatchedRoutes

    /// Why the first stopped route was stopped; the outcome when no other route is left.
    private(set) var stopped: DropReason?

    /// Whether a route would have taken the message were it not ambiguous.
    let isTooAmbiguous: Bool

    /// What the deduplicator reserved, to be confirmed or undone.
    var lease: SeenLease?

    /// The message in flight that this one repeats.
    var first: FirstInFlight?

    /// What each stage said and how long it took, while someone listens.
    var recorder: TraceRecorder?

    init(
        _ message: PushMessage, id: UInt64, arrivedAt: MonotonicInstant, app: String?, match: RouteMatch
    ) {
        self.message = message
        self.id = id
        self.arrivedAt = arrivedAt
        self.app = app
        routes = match.routes
        isTooAmbiguous = match.isTooAmbiguous
    }

    /// Stops those routes that `condition` holds for; the others run, and if none is left the reason is the outcome.
    ///
    /// A stopped route still counts as the match: none that was declared after it takes its place.
    public mutating func stopRoutes(_ reason: DropReason, where condition: (Route) -> Bool) {
        let left = routes.filter { !condition($0) }
        guard left.count < routes.count else { return }
        stopped = stopped ?? reason
        routes = MatchedRoutes(left)
    }
}
