import Synchronization

/// The receive path of one task that takes many payloads: a transport's, a file's, or a socket's.
///
/// It belongs to one task, so it needs no memory of its own for a message whose handler keeps nothing, and asks for
/// less at each message than ``PushReceiver/receive(_:)``. Everything else is the receiver's: routes, stages, counts,
/// traces, and what is held. A receiver may have several loops, beside calls of `receive`. A loop keeps the last
/// payload until the next one comes.
///
/// ```swift
/// var loop = ReceiveLoop(receiver)
/// let dispositions = await loop.receive(contentsOf: batch)
/// ```
///
/// It is fastest with the built-in stages in their usual order and no listener for traces, and with handlers that
/// borrow; see ``LentEvent``.
public struct ReceiveLoop: ~Copyable {
    private let receiver: PushReceiver
    private let limits: PayloadLimits
    private let clock: any ReceiverClock
    private let lane: StandardLane?
    private var table: RouteTable
    private var isTraced: Bool
    /// The number of the changes of the receiver's setup that table and tracing are of.
    private var setupChanges: Int
    private var event: LentEvent
    /// How many messages the event's route has handled that are not in the counts yet.
    private var handledOfRoute = 0
    /// A message that was handled, and that the seen store is told of together with the next one.
    private var ended: SeenLease?

    /// Makes a loop over a receiver.
    public init(_ receiver: PushReceiver) {
        self.receiver = receiver
        limits = receiver.limits
        clock = receiver.clock
        lane = receiver.chain.lane
        event = LentEvent(receiver.chain.loopGuard)
        setupChanges = receiver.setupChanges.load(ordering: .acquiring)
        let (table, listener) = receiver.currentSetup()
        self.table = table
        isTraced = listener != nil
    }

    // MARK: Receiving

    /// Takes one payload in and returns when its handlers have, as ``PushReceiver/receive(_:)`` does.
    public mutating func receive(_ payload: consuming RawPayload) async -> Outcome {
        let end = await take(payload)
        finishLast()
        return end.outcome(event)
    }

    /// Takes payloads in, one after the other, and returns when all their handlers have.
    ///
    /// What handlers that do not wait have handled is in ``PushReceiver/metrics`` when the batch ends, at the latest.
    ///
    /// - Parameter payloads: what came together, in order. The moment at which one ends counts as that of the next
    ///   one's beginning, which saves a look at the clock for each.
    /// - Returns: for each, in the same order, what the transport should do with it.
    public mutating func receive(contentsOf payloads: consuming [RawPayload]) async -> [Disposition] {
        var dispositions: [Disposition] = []
        dispositions.reserveCapacity(payloads.count)
        for index in payloads.indices {
            var payload = RawPayload([])
            swap(&payload, &payloads[index])
            dispositions.append(await take(consume payload).disposition)
        }
        finishLast()
        return dispositions
    }

    /// How a message ended; without its outcome where that follows from the event.
    private enum End {
        case handled
        case other(Outcome)

        var disposition: Disposition {
            switch self {
            case .handled: .accept
            case .other(let outcome): outcome.disposition
            }
        }

        func outcome(_ event: borrowing LentEvent) -> Outcome {
            switch self {
            case .handled: .handled(MatchedRoutes(only: event.matched))
            case .other(let outcome): outcome
            }
        }
    }

    private mutating func take(_ payload: consuming RawPayload) async -> End {
        guard let lane, !hasListener() else {
            finishLast()
            return .other(await receiver.receive(payload))
        }
        switch start(lane, payload) {
        case .handled: return .handled
        case .call(let lease): return await call(lane, lease)
        case .end(let outcome): return .other(outcome)
        case .longWay(let message, let passed):
            finishLast()
            var walk = MessageWalk(message, from: passed)
            return .other(await receiver.walk(&walk))
        }
    }

    /// Whether somebody listens to traces; learns of routes that have changed, too.
    @inline(__always)
    private mutating func hasListener() -> Bool {
        if receiver.setupChanges.load(ordering: .acquiring) != setupChanges { readSetup() }
        return isTraced
    }

    @inline(never)
    private mutating func readSetup() {
        setupChanges = receiver.setupChanges.load(ordering: .acquiring)
        let (table, listener) = receiver.currentSetup()
        (self.table, isTraced) = (table, listener != nil)
    }

    // MARK: One message

    private enum Start {
        case handled
        /// Its handler is to be called, and may wait.
        case call(SeenLease)
        case end(Outcome)
        indirect case longWay(RoutedMessage, passed: Int)
    }

    /// Decodes a payload, asks the stages, and calls a handler that need not wait.
    private mutating func start(_ lane: StandardLane, _ payload: consuming RawPayload) -> Start {
        let id = receiver.nextID()
        let arrival = payload.arrivedAt
        do throws(DecodeError) {
            try event.read(payload, limits: limits)
        } catch {
            receiver.end(nil, error, id, nil)
            return .end(.undecodable(error))
        }
        let now = clock.now
        let arrivedAt = arrival ?? now
        switch lane.admit(
            event.storage, table, app: receiver.app, arrivedAt: arrivedAt, now: now, ended: ended.take())
        {
        case .pass(let route, let lease):
            event.messageID = id
            event.arrivedAt = arrivedAt
            if event.matched !== route { changeRoute(route) }
            guard case .lent(let handler) = event.matched.handler else { return .call(lease) }
            do {
                try handler(event)
                noteHandled(lease)
                return .handled
            } catch {
                return .end(fail(lane, lease, error))
            }
        case .longWay(let rest):
            let message = receiver.continued(rest, event.storage, id, arrivedAt, now, table)
            return .longWay(message, passed: rest.passed)
        }
    }

    /// Calls a handler that may wait.
    private mutating func call(_ lane: StandardLane, _ lease: SeenLease) async -> End {
        // It may take long, and the counts should not be behind for as long.
        countHandled()
        do {
            if case .lentWaiting(let handler) = event.matched.handler {
                try await handler(event)
            } else {
                try await event.matched.handler(event.message, event.context)
            }
            noteHandled(lease)
            return .handled
        } catch {
            return .other(fail(lane, lease, error))
        }
    }

    /// Takes down that a message was handled; counts and store are told later.
    @inline(__always)
    private mutating func noteHandled(_ lease: SeenLease) {
        handledOfRoute &+= 1
        ended = lease
    }

    /// Goes on with messages of another route.
    @inline(never)
    private mutating func changeRoute(_ route: Route) {
        countHandled()
        event.matched = route
    }

    /// Adds to the counts what the route has handled since.
    private mutating func countHandled() {
        guard handledOfRoute > 0 else { return }
        event.matched.handled.add(handledOfRoute, ordering: .relaxed)
        receiver.counters.countHandled(handledOfRoute)
        handledOfRoute = 0
    }

    @inline(never)
    private func fail(_ lane: StandardLane, _ lease: SeenLease, _ error: any Error) -> Outcome {
        receiver.fail(event.context, lease, lane, error)
    }

    /// Tells the seen store of the message that was handled last.
    private mutating func finishLast() {
        if let lease = ended.take() { lane?.commit(lease, clock.now) }
        countHandled()
    }
}
