import Synchronization

/// The receive path of one task that receives many payloads, from a transport, a file, or a socket.
///
/// It belongs to one task, so a message whose handler keeps nothing needs no memory of its own, and less work than
/// with ``PushReceiver/receive(_:)``. Everything else belongs to the receiver: routes, middlewares, counts, traces, and
/// held messages. A receiver may have several loops, in addition to calls of `receive`. A loop keeps the last payload
/// until the next one arrives.
///
/// ```swift
/// var loop = ReceiveLoop(receiver)
/// let dispositions = await loop.receive(contentsOf: batch)
/// ```
///
/// It is fastest with the built-in middlewares in their usual order, without a listener for traces, and with handlers
/// that borrow; see ``LentEvent``.
public struct ReceiveLoop: ~Copyable {
    private let receiver: PushReceiver
    private let limits: PayloadLimits
    private let clock: any ReceiverClock
    private let lane: StandardLane?
    private var table: RouteTable
    private var isTraced: Bool
    /// The receiver's count of setup changes when table and tracing were read.
    private var setupChanges: Int
    private var event: LentEvent
    /// The messages that the event's route has handled and that are not counted yet.
    private var handledOfRoute = 0
    /// A handled message that the deduplication store learns of together with the next one.
    private var ended: SeenLease?

    /// Makes a loop for a receiver.
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

    /// Receives one payload, and returns when its handlers have returned, as ``PushReceiver/receive(_:)`` does.
    public mutating func receive(_ payload: consuming RawPayload) async -> Outcome {
        let end = await take(payload)
        finishLast()
        return end.outcome(event)
    }

    /// Receives payloads, one after another, and returns when all their handlers have returned.
    ///
    /// Messages of handlers that do not wait are counted in ``PushReceiver/metrics`` when the batch ends, or earlier.
    ///
    /// - Parameter payloads: the payloads, in order. The clock is read once per payload: the time at which a message
    ///   ends is the time at which the next one begins.
    /// - Returns: the disposition of each payload, in the same order.
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

    /// How a message ended; without its outcome if that follows from the event.
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

    /// Whether a trace listener is registered; also updates the routes if they have changed.
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
        /// Its handler must be called, and may wait.
        case call(SeenLease)
        case end(Outcome)
        indirect case longWay(RoutedMessage, passed: Int)
    }

    /// Decodes a payload, asks the middlewares, and calls a handler that does not wait.
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
        let last = ended.take()
        switch lane.admit(
            event.storage, event.buffer.span, table, app: receiver.app, arrivedAt: arrivedAt, now: now, ended: last)
        {
        case .pass(let admission):
            event.messageID = id
            event.arrivedAt = arrivedAt
            if event.matched !== admission.route { changeRoute(admission.route) }
            guard case .lent(let handler) = event.matched.handler else { return .call(admission.lease) }
            do {
                try handler(event)
                noteHandled(admission.lease)
                return .handled
            } catch {
                return .end(fail(lane, admission.lease, error))
            }
        case .duplicate: return .end(receiver.countDuplicate())
        case .longWay(let rest):
            let message = receiver.continued(rest, event.storage, id, arrivedAt, now, table)
            return .longWay(message, passed: rest.passed)
        }
    }

    /// Calls a handler that may wait.
    private mutating func call(_ lane: StandardLane, _ lease: SeenLease) async -> End {
        // The handler may take long; the counts must not lag behind meanwhile.
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

    /// Records that a message was handled; counts and store are updated later.
    @inline(__always)
    private mutating func noteHandled(_ lease: SeenLease) {
        handledOfRoute &+= 1
        ended = lease
    }

    /// Continues with messages of another route.
    @inline(never)
    private mutating func changeRoute(_ route: Route) {
        countHandled()
        event.matched = route
    }

    /// Adds the messages that the route has handled since to the counts.
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

    /// Records the last handled message in the deduplication store, and updates the counts.
    private mutating func finishLast() {
        if let lease = ended.take() { lane?.commit(lease, clock.now) }
        countHandled()
    }
}
