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
/// it. `receive` may be called from many tasks at once. A receiver tries a message once: what the
/// transport should do with it is ``Outcome/disposition``. What the loop guard holds goes on only while a task is in
/// ``run()``, or when somebody calls ``handleDue()``.
public final class PushReceiver: Sendable {
    /// The app that is served; payloads that name none count as this one's.
    public let app: String?

    package let limits: PayloadLimits
    package let clock: any ReceiverClock
    package let chain: CompiledChain
    package let counters = OutcomeCounters()

    /// Where messages are put aside that nobody will handle unless somebody replays them.
    public let deadLetters: any DeadLetterStore

    private let lastID = Atomic<UInt64>(0)
    let setup = Mutex(Setup())
    /// How often routes or listeners have changed, so that a loop need not take the lock to see that they have not.
    let setupChanges = Atomic<Int>(0)

    /// What can change while the receiver runs; read once a message.
    struct Setup {
        private(set) var routes: [Route] = []
        var ids: Set<String> = []
        var traceListeners = Listeners<Trace>()
        var deadLetterListeners = Listeners<DeadLetter>()
        var listener: (@Sendable (Trace) -> Void)? { traceListeners.call }
        /// Compiled when a message needs it and routes have been added since.
        var table: RouteTable?
        var loaded = LoadedRoutes()
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
    ///   - writesAs: identities that this device writes as, and others too, such as a user with several devices.
    ///   - serving: the scopes that are served; nil serves all.
    ///   - loop: the loop guard's layers that are on, and their numbers.
    ///   - limits: the bounds within which payloads are read.
    ///   - clock: the clock of the receiver and of its chain.
    ///   - deadLetters: where messages are put aside; without one, in memory: 1,000 letters of 8 MiB in all.
    public convenience init(
        app: String? = nil, me: [Sender] = [], writesAs: [Sender] = [], serving: ScopePattern? = nil,
        loop: LoopSettings = .standard, limits: PayloadLimits = .standard, clock: any ReceiverClock = SystemClock(),
        deadLetters: any DeadLetterStore = InMemoryDeadLetterStore()
    ) {
        self.init(app: app, limits: limits, clock: clock, deadLetters: deadLetters) {
            Deduplicator()
            LoopGuard(me: me, writesAs: writesAs, settings: loop)
            ScopeFilter(serving: serving)
        }
    }

    /// Makes a receiver with a chain of your own.
    ///
    /// - Parameters:
    ///   - app: the app that is served.
    ///   - limits: the bounds within which payloads are read.
    ///   - clock: the clock of the receiver and of its chain.
    ///   - deadLetters: where messages are put aside.
    ///   - middleware: the chain, first stage first. Keep the order ``Deduplicator``, ``LoopGuard``, ``ScopeFilter``,
    ///     and put your own stages where they belong among them; ``chainProblems`` says what is wrong with the order.
    ///     At most one deduplicator and one loop guard.
    public init(
        app: String? = nil, limits: PayloadLimits = .standard, clock: any ReceiverClock = SystemClock(),
        deadLetters: any DeadLetterStore = InMemoryDeadLetterStore(),
        @MiddlewareBuilder middleware: () -> [any Middleware]
    ) {
        self.app = app
        self.limits = limits
        self.clock = clock
        self.deadLetters = deadLetters
        chain = CompiledChain(middleware(), clock: clock)
    }

    /// What is held ends as ``Outcome/failed(_:)``, so that its transport delivers it again.
    deinit {
        let id = ObjectIdentifier(self)
        for held in loopGuard?.removeHeld(where: { $0.receiver == id }) ?? [] { held.abandon() }
    }

    // MARK: Receiving

    /// Takes one payload in and returns when its handlers have.
    ///
    /// Handlers of several routes run one after another, in order of declaration; one that fails does not keep the
    /// next from running. A duplicate of a message that is being handled returns when that one has ended, so a handler
    /// must not wait for the receipt of the very payload that it handles.
    public func receive(_ payload: consuming RawPayload) async -> Outcome {
        guard let lane = chain.lane else { return await receiveByStages(payload) }
        switch start(lane, payload) {
        case .handle(let context, let lease):
            do {
                try await context.matched.handler(context.message, context)
                return finish(context, lease, lane)
            } catch {
                return fail(context, lease, lane, error)
            }
        case .end(let outcome): return outcome
        case .longWay(var message, let passed): return await run(&message, from: passed)
        }
    }

    /// Takes one payload in, stage by stage.
    private func receiveByStages(_ payload: consuming RawPayload) async -> Outcome {
        do {
            var message = try prepare(payload)
            return await run(&message)
        } catch {
            return .undecodable(error)
        }
    }

    /// A number for a message.
    @inline(__always)
    package func nextID() -> UInt64 { lastID.add(1, ordering: .relaxed).newValue }

    /// Decodes a payload and looks up its routes; counts and reports one that cannot be decoded.
    @inline(__always)
    package func prepare(_ payload: consuming RawPayload) throws(DecodeError) -> RoutedMessage {
        let (table, recorder) = begin()
        let id = nextID()
        // Looked at before the message takes the payload over, which spares a copy of it.
        let arrival = payload.arrivedAt
        let transport = recorder == nil ? nil : payload.transport
        let message: PushMessage
        do {
            message = try PushMessage(payload, limits: limits)
        } catch {
            end(transport, error, id, recorder)
            throw error
        }
        return route(message, id, arrival, table, recorder)
    }

    /// Counts and reports a payload that could not be decoded.
    package func end(_ transport: Transport?, _ error: DecodeError, _ id: UInt64, _ recorder: TraceRecorder?) {
        let outcome = Outcome.undecodable(error)
        recorder?.end("decode", error.description)
        counters.count(outcome)
        recorder?.finish(id, nil, transport, outcome)
    }

    /// Looks up the routes of a message.
    @inline(__always)
    package func route(
        _ message: PushMessage, _ id: UInt64, _ arrival: MonotonicInstant?, _ table: RouteTable,
        _ recorder: TraceRecorder?
    ) -> RoutedMessage {
        recorder?.decoded(message)
        let match = table.match(message.storage)
        recorder?.routed(match.routes)
        let now = clock.now
        // A payload that had to wait before it came here is judged by the present, as the ones before it were.
        return RoutedMessage(
            message, id: id, arrivedAt: arrival ?? now, admittedAt: now, app: app, match: match, recorder: recorder)
    }

    /// Sends a message through the chain to its handlers, from the stage of a number on, and settles it.
    // Never inlined: the continuations of the long way would be made room for in each message's frame.
    @inline(never)
    package func run(_ message: inout RoutedMessage, from stage: Int = 0) async -> Outcome {
        var passed = stage
        let outcome: Outcome
        switch admit(&message, passed: &passed) {
        case .handle: outcome = await handle(&message)
        case .hold(let breaker): return hold(message, breaker, passed)
        case .wait(let lease): outcome = await wait(for: lease, message)
        case .end(let end): outcome = end
        }
        return settle(message, outcome, passed)
    }

    /// Tells the stages that passed a message how it ended, counts and reports it; keeps it for the routes that are
    /// held.
    @inline(__always)
    package func settle(_ message: RoutedMessage, _ end: Outcome, _ passed: Int) -> Outcome {
        if message.hasHeld { return settleRemainder(message, end, passed) }
        conclude(message, end, passed)
        return end
    }

    // Never inlined, here as elsewhere where nearly no message comes: what is inlined has its room made for each.
    @inline(never)
    private func settleRemainder(_ message: RoutedMessage, _ end: Outcome, _ passed: Int) -> Outcome {
        let end = holdRemainder(message, end).0
        conclude(message, end, passed)
        return end
    }

    /// Tells the stages that passed a message how it ended, counts and reports it.
    @inline(__always)
    package func conclude(_ message: RoutedMessage, _ outcome: Outcome, _ passed: Int) {
        chain.settle(message, outcome, passed)
        counters.count(outcome)
        message.recorder?.finish(message, outcome)
    }

    /// Changes routes or listeners.
    func changeSetup<Result>(_ body: (inout sending Setup) -> sending Result) -> Result {
        let result = setup.withLock(body)
        setupChanges.add(1, ordering: .releasing)
        return result
    }

    /// The routes and the listener as they are now.
    package func currentSetup() -> (table: RouteTable, listener: (@Sendable (Trace) -> Void)?) {
        setup.withLock { setup in
            if let table = setup.table { return (table, setup.listener) }
            let table = RouteTable(setup.routes, generation: setup.loaded.generation)
            setup.table = table
            return (table, setup.listener)
        }
    }

    /// What is to be done with a message when the chain has judged it.
    package enum Next {
        case handle
        /// Share the end of the message that this one repeats.
        case wait(SeenLease)
        /// Keep it until this breaker lets it go.
        case hold(BreakerID)
        case end(Outcome)
    }

    package func admit(_ message: inout RoutedMessage, passed: inout Int) -> Next {
        do {
            let verdict = try chain.admit(&message, &passed)
            // The common way first, which needs no look at the rest of the message and so no copy of it.
            if verdict == .pass, !message.routes.isEmpty { return .handle }
            return next(verdict, message)
        } catch {
            let failure = error as? StageFailure
            return .end(
                .failed(
                    Outcome.Failure(
                        place: failure?.stage ?? "chain", isStage: true, error: failure?.underlying ?? error,
                        handled: MatchedRoutes())))
        }
    }

    /// What is to be done with a message that the chain, or the loop guard alone, has judged so.
    package func next(_ verdict: Verdict, _ message: RoutedMessage) -> Next {
        switch verdict {
        case .drop(let reason): return next(reason)
        case .pass:
            guard message.routes.isEmpty else { return .handle }
            // A route that is held keeps the message, whatever ended the others: it may handle it yet.
            if let breaker = message.firstHold { return .hold(breaker) }
            if case .drop(let reason)? = message.stopped { return next(reason) }
            return .end(.unrouted(message.isTooAmbiguous ? .ambiguous : .noRoute))
        }
    }

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
    package func wait(for lease: SeenLease, _ message: RoutedMessage) async -> Outcome {
        .duplicate(.inFlight(await message.first?.end(of: lease, now: message.arrivedAt) ?? .retryLater))
    }

    /// Calls the handlers of a message that the chain passed, but for those of routes for which it is too old.
    ///
    /// - Parameters:
    ///   - message: the message.
    ///   - maxAge: how old it may be for routes without delivery settings of their own.
    /// - Returns: how it ended.
    @inline(__always)
    package func handle(_ message: inout RoutedMessage, maxAge: Duration? = nil) async -> Outcome {
        var failed: [FailedCall] = []
        for index in message.routes.indices {
            // The context holds the route for both of us: each reference more is counted twice a message.
            let context = HandlerContext(message, message.routes[index], chain.loopGuard)
            if context.matched.maxAge != nil || maxAge != nil, isTooOld(message, for: context.matched, maxAge) {
                failed.append(FailedCall(route: context.matched, error: MessageTooOld()))
                continue
            }
            message.recorder?.call(context.matched)
            do {
                try await context.matched.handler(message.message, context)
                context.matched.handled.add(1, ordering: .relaxed)
                message.recorder?.handled(context.matched)
            } catch {
                context.matched.failed.add(1, ordering: .relaxed)
                failed.append(FailedCall(route: context.matched, error: error))
                message.recorder?.failed(context.matched, error)
            }
        }
        return failed.isEmpty ? .handled(message.routes) : outcome(of: failed, message.routes)
    }

    /// One handler that threw, or was not called.
    struct FailedCall {
        let route: Route
        let error: any Error
    }

    /// The outcome of a message of whose handlers some threw or were not called.
    // Never inlined: nearly no message comes here.
    @inline(never)
    func outcome(of failed: [FailedCall], _ routes: MatchedRoutes) -> Outcome {
        let handled = MatchedRoutes(routes.filter { route in !failed.contains { $0.route === route } })
        // What ends a loop would end it again, and nothing gets younger: trying again is no use.
        let failure = failed.first { !($0.error is any LoopEnd) && !($0.error is MessageTooOld) }
        guard let failure else {
            if let end = failed.lazy.compactMap({ $0.error as? any LoopEnd }).first { return .looped(end.layer) }
            return handled.isEmpty ? .expired : .handled(handled)
        }
        return .failed(
            Outcome.Failure(place: failure.route.id, isStage: false, error: failure.error, handled: handled))
    }

    // MARK: Registering

    /// Adds a route behind those that are there.
    package func add(
        _ id: String?, _ criteria: RouteCriteria, _ flow: RouteFlow, _ loop: RouteLoopPolicy,
        _ delivery: DeliverySettings?, _ dedupe: RouteDedupe?, _ handler: RouteHandler
    ) {
        changeSetup { setup in
            let id = id ?? setup.freeID(criteria.kind?.rawValue ?? "any")
            precondition(setup.ids.insert(id).inserted, "there is a route '\(id)' already; give this one another id")
            setup.append(
                Route(
                    id: id, criteria: criteria, flow: flow, loop: loop, delivery: delivery, dedupe: dedupe,
                    handler: handler))
        }
    }
}
