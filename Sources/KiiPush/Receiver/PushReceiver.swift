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

    /// Where messages are dead-lettered that nobody will handle unless somebody replays them.
    public let deadLetters: any DeadLetterStore

    let lastID = Atomic<UInt64>(0)
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
    ///   - deadLetters: where messages are dead-lettered; without one, in memory: 1,000 letters of 8 MiB in all.
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
    ///   - deadLetters: where messages are dead-lettered.
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

    // MARK: Routes

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
