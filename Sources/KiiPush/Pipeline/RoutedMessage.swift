/// A message on its way through the middlewares, with the routes that match it.
///
/// Routes are looked up before the chain runs, so that a middleware can judge each of them.
public struct RoutedMessage: Sendable {
    /// The message.
    public let message: PushMessage
    /// The message's number in its receiver, for a middleware that keeps state from `admit` to `settle`.
    public let id: UInt64
    /// When the payload arrived, on the receiver's clock.
    public let arrivedAt: MonotonicInstant
    /// When the chain judges it, on the receiver's clock: on arrival, or later if it had to wait.
    ///
    /// A middleware that lets messages wait compares with this time; ``arrivedAt`` stays the same.
    public package(set) var admittedAt: MonotonicInstant
    /// The app that the receiver serves; a payload that names none counts as that app's.
    public let app: String?
    /// The routes that match the message and have not been stopped, in order of declaration.
    public package(set) var routes: MatchedRoutes
    /// Whether a route would have matched if the message were not ambiguous.
    package private(set) var isTooAmbiguous: Bool
    /// Whether the loop guard has heard that it waits, and as what.
    package var heard = Heard.no
    /// Whether it has taken a token from the floors of its keys.
    package var isCounted = false
    /// The checks that it skips.
    package var bypass = AdmissionBypass.none
    /// How many times its handlers have been run, this time included.
    package var attempt: UInt32 = 1
    /// Of a message that is stopped, or is to be answered, one element; an array, so that others are not larger.
    private var special: [Special] = []
    /// The digest of its resource, made by the deduplicator.
    package var place: ResourceDigest?
    /// The deduplicator's reservation, to be confirmed or undone.
    package var lease: SeenLease?
    /// The verdict and the time of each step, while somebody listens.
    package var recorder: TraceRecorder?

    /// Whether the message is for the receiver's app; true if it names none.
    package var isOfApp: Bool {
        let named = message.storage.classified.app
        guard let app, named.isPresent else { return true }
        let buffer = message.storage.buffer
        return buffer.span.matches(named.range, app)
    }
}

extension RoutedMessage {
    // Calls the memberwise initialiser: one that sets the members one by one ends with a copy of the whole (measured:
    // 400 instructions, and twelve changes of reference counts).
    package init(
        _ message: PushMessage, id: UInt64, arrivedAt: MonotonicInstant, admittedAt: MonotonicInstant? = nil,
        app: String?, match: RouteMatch, recorder: TraceRecorder? = nil
    ) {
        self.init(
            message: message, id: id, arrivedAt: arrivedAt, admittedAt: admittedAt ?? arrivedAt, app: app,
            routes: match.routes, isTooAmbiguous: match.isTooAmbiguous, recorder: recorder)
    }

    /// Whether the loop guard has heard of a message that waits: if so, as one of new keys, or of known ones.
    package enum Heard: Sendable {
        case no
        case asNew
        case asKnown
    }

    private struct Special {
        var stopped: DropReason?
        var answers: GivenAnswers?
    }

    /// Why the first stopped route was stopped; the outcome when no other route is left.
    package var stopped: DropReason? { special.first?.stopped }

    /// The answers of its routes, if its sender may wait for one.
    package var answers: GivenAnswers? {
        get { special.first?.answers }
        set { change { $0.answers = newValue } }
    }

    /// Stops the routes that meet a condition; the others run, and no later route takes their place.
    ///
    /// If none is left, the reason is the outcome.
    public mutating func stopRoutes(_ reason: DropReason, where condition: (Route) -> Bool) {
        let left = routes.filter { !condition($0) }
        guard left.count < routes.count else { return }
        routes = MatchedRoutes(left)
        change { $0.stopped = $0.stopped ?? reason }
    }

    /// Restarts with the routes as they are now, before the chain judges it.
    package mutating func restart(_ match: RouteMatch, now: MonotonicInstant) {
        routes = match.routes
        isTooAmbiguous = match.isTooAmbiguous
        isCounted = false
        bypass = .none
        special = answers.map { [Special(answers: $0)] } ?? []
        lease = nil
        admittedAt = now
    }

    private mutating func change(_ body: (inout Special) -> Void) {
        if special.isEmpty { special.append(Special()) }
        body(&special[0])
    }
}

/// The checks that a message skips.
package enum AdmissionBypass: Sendable {
    /// None: it has just arrived.
    case none
    /// The deduplicator's: it is known not to be a duplicate, although the store has its key.
    case seen
    /// That of its paces: a newer change has replaced it.
    case superseded
    /// The deduplicator's, those of all paces, and that of its age: somebody replays it from the dead letters.
    case all
}
