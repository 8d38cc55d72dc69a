import Synchronization

/// The front door: takes payloads in, sends them through the chain, calls the handlers, and says how each ended.
///
/// ```swift
/// let receiver = PushReceiver(app: "0123abcd", me: [.thing(id: "th.1")])
/// receiver.onPushToApp(bucket: "settings", scope: .user("*")) { event, context in
///     print(event.bucket.name, event.scope)
/// }
/// let outcome = await receiver.receive(RawPayload(bytes, transport: .mqtt))
/// ```
///
/// Register handlers before the first payload comes; a route that is added later takes the messages that come after
/// it. `receive` may be called from many tasks at once. A receiver keeps no queue and tries a message once: what the
/// transport should do with it is ``Outcome/disposition``.
public final class PushReceiver: Sendable {
    /// The app that is served; payloads that name none count as this one's.
    public let app: String?

    private let limits: PayloadLimits
    private let clock: any ReceiverClock
    private let chain: CompiledChain
    private let counters = OutcomeCounters()
    private let lastID = Atomic<UInt64>(0)
    let setup = Mutex(Setup())

    /// What can change while the receiver runs; read once a message.
    struct Setup {
        private(set) var routes: [Route] = []
        var ids: Set<String> = []
        var listener: (@Sendable (Trace) -> Void)?
        /// Compiled when a message needs it and routes have been added since.
        var table: RouteTable?
        var rules = LoadedRules()
        /// Counts the changes of the routes, for a load that was overtaken by another.
        private(set) var revision = 0

        /// Adds a route behind those that are there.
        mutating func append(_ route: Route) {
            routes.append(route)
            table = nil
            revision += 1
        }

        /// Takes other routes, compiled before.
        mutating func replaceRoutes(_ routes: [Route], _ table: RouteTable) {
            self.routes = routes
            self.table = table
            ids = Set(routes.map(\.id))
            revision += 1
        }

        /// An id for the next route, made of its kind and place; a later place where somebody chose that very id.
        func freeID(_ kind: String) -> String {
            var number = routes.count + 1
            while ids.contains("\(kind)-\(number)") { number += 1 }
            return "\(kind)-\(number)"
        }
    }

    /// Makes a receiver with the chain that every receiver should have: dedupe, loop guard, scope routing.
    ///
    /// - Parameters:
    ///   - app: the app that is served; a payload that names another is refused.
    ///   - me: identities that only this device writes as; see ``LoopGuard``.
    ///   - serving: the scopes that are served; nil serves all.
    ///   - limits: the bounds within which payloads are read.
    ///   - clock: the clock of the receiver and of its chain.
    public convenience init(
        app: String? = nil, me: [Sender] = [], serving: ScopePattern? = nil, limits: PayloadLimits = .standard,
        clock: any ReceiverClock = SystemClock()
    ) {
        self.init(app: app, limits: limits, clock: clock) {
            Deduplicator(clock: clock)
            LoopGuard(me: me, clock: clock)
            ScopeRouter(serving: serving)
        }
    }

    /// Makes a receiver with a chain of your own.
    ///
    /// - Parameters:
    ///   - app: the app that is served.
    ///   - limits: the bounds within which payloads are read.
    ///   - clock: the receiver's clock; give the same one to the stages that take one.
    ///   - middleware: the chain, first stage first. Keep the order ``Deduplicator``, ``LoopGuard``, ``ScopeRouter``,
    ///     and put your own stages where they belong among them.
    public init(
        app: String? = nil, limits: PayloadLimits = .standard, clock: any ReceiverClock = SystemClock(),
        @MiddlewareBuilder middleware: () -> some MiddlewareChain
    ) {
        self.app = app
        self.limits = limits
        self.clock = clock
        chain = CompiledChain(middleware())
    }

    // MARK: Receiving

    /// Takes one payload in and returns when its handlers have.
    ///
    /// Handlers of several routes run one after another, in order of declaration; one that fails does not keep the
    /// next from running. A duplicate of a message that is being handled returns when that one has ended, so a handler
    /// must not wait for the receipt of the very payload that it handles.
    public func receive(_ payload: RawPayload) async -> Outcome {
        let (table, listener) = currentSetup()
        let id = lastID.add(1, ordering: .relaxed).newValue
        let recorder = listener == nil ? nil : TraceRecorder(clock, generation: table.generation)
        let message: PushMessage
        do {
            message = try PushMessage(payload, limits: limits)
        } catch {
            let outcome = Outcome.undecodable(error)
            recorder?.end("decode", error.description)
            counters.count(outcome)
            if let recorder { listener?(recorder.trace(id, nil, payload.transport, outcome)) }
            return outcome
        }
        recorder?.end("decode", "\(message.kind), \(message.certainty.rawValue)")
        recorder?.begin()
        let match = table.match(message.storage)
        recorder?.end("route", match.routes.isEmpty ? "none" : match.routes.ids.joined(separator: ", "))

        var routed = RoutedMessage(message, id: id, arrivedAt: payload.arrivedAt ?? clock.now, app: app, match: match)
        routed.recorder = recorder
        var passed = 0
        let outcome: Outcome =
            switch admit(&routed, passed: &passed) {
            case .handle: await handle(&routed)
            case .wait(let lease): await wait(for: lease, routed)
            case .end(let outcome): outcome
            }
        settle(routed, outcome, passed: passed)
        if let recorder = routed.recorder { listener?(recorder.trace(id, message, payload.transport, outcome)) }
        return outcome
    }

    /// The routes and the listener as they are now.
    func currentSetup() -> (table: RouteTable, listener: (@Sendable (Trace) -> Void)?) {
        setup.withLock { setup in
            let table = setup.table ?? RouteTable(setup.routes, generation: setup.rules.generation)
            setup.table = table
            return (table, setup.listener)
        }
    }

    /// What is to be done with a message when the chain has judged it.
    private enum Next {
        case handle
        /// Share the end of the message that this one repeats.
        case wait(SeenLease)
        case end(Outcome)
    }

    private func admit(_ message: inout RoutedMessage, passed: inout Int) -> Next {
        do {
            switch try chain.admit(&message, &passed) {
            case .drop(let reason): return next(reason)
            case .pass:
                guard message.routes.isEmpty else { return .handle }
                if let reason = message.stopped { return next(reason) }
                return .end(.unrouted(message.isTooAmbiguous ? .ambiguous : .noRoute))
            }
        } catch {
            let failure = error as? StageFailure
            return .end(
                .failed(
                    Outcome.Failure(
                        place: failure?.stage ?? "chain", isStage: true, error: failure?.underlying ?? error,
                        handled: MatchedRoutes())))
        }
    }

    /// What is to be done with a message that a stage dropped.
    private func next(_ reason: DropReason) -> Next {
        switch reason {
        case .duplicate: .end(.duplicate(.done))
        case .duplicateInFlight(let lease): .wait(lease)
        case .looped(let layer): .end(.looped(layer))
        case .refused(let refusal): .end(.refused(refusal))
        }
    }

    /// The outcome of a message that repeats one in flight.
    ///
    /// Never inlined: room for the continuation would be made for each message, and nearly none waits.
    @inline(never)
    private func wait(for lease: SeenLease, _ message: RoutedMessage) async -> Outcome {
        .duplicate(.inFlight(await message.first?.end(of: lease, now: message.arrivedAt) ?? .retryLater))
    }

    /// Calls the handlers of a message that the chain passed.
    @inline(__always)
    private func handle(_ message: inout RoutedMessage) async -> Outcome {
        var failure: (route: Route, error: any Error)?
        var succeeded = MatchedRoutes()
        for route in message.routes {
            let context = HandlerContext(route: route.id, messageID: message.id, arrivedAt: message.arrivedAt)
            message.recorder?.begin()
            do {
                try await route.handler(message.message, context)
                route.handled.add(1, ordering: .relaxed)
                succeeded.append(route)
                message.recorder?.end("handle \(route.id)", "handled")
            } catch {
                route.failed.add(1, ordering: .relaxed)
                failure = failure ?? (route, error)
                message.recorder?.end("handle \(route.id)", failed: error)
            }
        }
        guard let failure else { return .handled(succeeded) }
        return .failed(
            Outcome.Failure(place: failure.route.id, isStage: false, error: failure.error, handled: succeeded))
    }

    private func settle(_ message: RoutedMessage, _ outcome: Outcome, passed: Int) {
        chain.settle(message, outcome, passed)
        counters.count(outcome)
    }

    // MARK: Watching

    /// Calls `listener` with the trace of every message from now on, in place of an earlier listener.
    ///
    /// It is called by the task that received the message, before `receive` returns; keep it short. While nobody
    /// listens, no trace is made.
    public func onTrace(_ listener: (@Sendable (Trace) -> Void)?) { setup.withLock { $0.listener = listener } }

    /// How many messages were taken in so far, and how they ended.
    public var metrics: Metrics { counters.snapshot(setup.withLock { $0.routes }) }

    /// The names of the stages that a message passes, in order.
    public var middleware: [String] { chain.names }

    // MARK: Registering

    /// Adds a route behind those that are there.
    func add(_ id: String?, _ criteria: RouteCriteria, _ flow: RouteFlow, _ handler: RouteHandler) {
        setup.withLock { setup in
            let id = id ?? setup.freeID(criteria.kind?.rawValue ?? "any")
            precondition(setup.ids.insert(id).inserted, "there is a route '\(id)' already; give this one another id")
            setup.append(Route(id: id, criteria: criteria, flow: flow, handler: handler))
        }
    }
}
