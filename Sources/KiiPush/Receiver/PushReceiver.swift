import Synchronization

/// Receives payloads, sends them through the chain, calls the handlers, and returns the outcome of each.
///
/// ```swift
/// let receiver = PushReceiver(app: "0123abcd", me: [.thing(id: "th.1")])
/// receiver.onPushToApp(bucket: "settings", scope: .user("*")) { event, context in
///     print(event.bucket.name, event.scope)
/// }
/// let outcome = await receiver.receive(RawPayload(bytes, transport: .mqtt))
/// ```
///
/// Register handlers before the first payload arrives; a route that is added later matches only later messages and, in
/// a `PushService`, those that still wait for their turn.
/// `receive` may be called from many tasks at once. A receiver tries a message once; ``Outcome/disposition`` says what
/// the transport should do with it.
public final class PushReceiver: Sendable {
    /// The app that is served; a payload that does not name an app counts as this app's.
    public let app: String?

    package let limits: PayloadLimits
    package let formats: PayloadFormats
    package let clock: any ReceiverClock
    package let chain: CompiledChain
    package let counters = OutcomeCounters()
    /// How many messages of each format have ended.
    let formatCounts = Mutex<[String: Int]>([:])
    /// The store of dead letters: messages that are not handled again unless they are replayed.
    public let deadLetters: any DeadLetterStore

    let lastID = Atomic<UInt64>(0)
    let setup = Mutex(Setup())
    let traceListeners = Listeners<Trace>()
    let deadLetterListeners = Listeners<DeadLetter>()
    /// How many dead letters took the place of an older one's payload; without those of gaps, and of what is no push.
    let merged = Atomic(0)

    /// The state that can change while the receiver runs; read once per message.
    struct Setup {
        private(set) var routes: [Route] = []
        var ids: Set<ExactText> = []
        /// The compiled routes; nil until a message needs them after routes were added.
        var table: RouteTable?
        var loaded = LoadedRoutes()
        /// Counts the changes of the routes, so that a load detects a concurrent change.
        private(set) var revision = 0

        /// Adds a route after the existing ones.
        mutating func append(_ route: Route) {
            routes.append(route)
            table = nil
            revision += 1
        }

        /// Replaces the routes with others that are already compiled.
        mutating func replaceRoutes(_ routes: [Route], _ table: RouteTable) {
            self.routes = routes
            self.table = table
            ids = Set(routes.map { ExactText($0.id) })
            revision += 1
        }

        /// An id for the next route, made of its kind and its number; a higher number if that id is in use.
        func freeID(_ kind: String) -> String {
            var number = routes.count + 1
            while ids.contains(ExactText("\(kind)-\(number)")) { number += 1 }
            return "\(kind)-\(number)"
        }
    }

    /// Makes a receiver with the standard chain: deduplicator, loop guard, scope filter.
    ///
    /// - Parameters:
    ///   - app: the app that is served; a payload that names another app is refused.
    ///   - me: identities that only this device writes as; see ``LoopGuard``.
    ///   - writesAs: identities that this device and others write as, such as a user with several devices.
    ///   - serving: the scopes that are served; nil serves all.
    ///   - loop: the enabled layers of the loop guard, and their settings.
    ///   - limits: the limits for decoding payloads.
    ///   - formats: the formats of other systems.
    ///   - clock: the clock of the receiver and of its chain.
    ///   - deadLetters: the dead-letter store; by default in memory, for 1,000 dead letters of 8 MiB in all.
    public convenience init(
        app: String? = nil, me: [Sender] = [], writesAs: [Sender] = [], serving: ScopePattern? = nil,
        loop: LoopSettings = .standard, limits: PayloadLimits = .standard, formats: PayloadFormats = .shipped,
        clock: any ReceiverClock = SystemClock(), deadLetters: any DeadLetterStore = InMemoryDeadLetterStore()
    ) {
        self.init(app: app, limits: limits, formats: formats, clock: clock, deadLetters: deadLetters) {
            Deduplicator()
            LoopGuard(me: me, writesAs: writesAs, settings: loop)
            ScopeFilter(serving: serving)
        }
    }

    /// Makes a receiver with a chain of your own; the rest as in that with the standard chain.
    ///
    /// Keep the order ``Deduplicator``, ``LoopGuard``, ``ScopeFilter``, and put your own middlewares among them;
    /// ``chainProblems`` reports mistakes in the order. A chain may have at most one deduplicator and one loop guard.
    public init(
        app: String? = nil, limits: PayloadLimits = .standard, formats: PayloadFormats = .shipped,
        clock: any ReceiverClock = SystemClock(), deadLetters: any DeadLetterStore = InMemoryDeadLetterStore(),
        @MiddlewareBuilder middleware: () -> [any Middleware]
    ) {
        self.app = app
        self.limits = limits
        self.formats = formats
        self.clock = clock
        self.deadLetters = deadLetters
        chain = CompiledChain(middleware(), clock: clock)
    }

    // MARK: Routes

    /// The compiled routes as they are now.
    var table: RouteTable {
        setup.withLock { setup in
            if let table = setup.table { return table }
            let table = RouteTable(setup.routes, generation: setup.loaded.generation)
            setup.table = table
            return table
        }
    }

    /// Adds a route after the existing ones.
    package func add(_ id: String?, _ criteria: RouteCriteria, _ options: RouteOptions, _ handler: RouteHandler) {
        setup.withLock { setup in
            let kinds = criteria.kinds.kinds
            let id = id ?? setup.freeID(kinds.count == 1 ? kinds[0].rawValue : "any")
            precondition(
                setup.ids.insert(ExactText(id)).inserted, "there is a route '\(id)' already; give this one another id")
            setup.append(Route(id: id, criteria: criteria, options: options, handler: handler))
        }
    }
}

extension HandlerRegistry {
    /// Calls `listener` with the trace of every message from now on.
    ///
    /// Listeners are called before `receive` returns. There is no trace of a change that a newer one replaced while it
    /// waited on a service's disk, and none is made without a listener.
    @discardableResult
    public func onTrace(_ listener: @escaping @Sendable (Trace) -> Void) -> ListenerToken {
        receiver.traceListeners.add(listener)
    }

    /// Calls `listener` with each message that is dead-lettered from now on.
    ///
    /// The dead letter is then in the store, and has its number. Listeners are called by the task that adds it; they
    /// are not called for dead letters that were in the store before, see ``DeadLetterStore/count``.
    @discardableResult
    public func onDeadLetter(_ listener: @escaping @Sendable (DeadLetter) -> Void) -> ListenerToken {
        receiver.deadLetterListeners.add(listener)
    }
}

extension PushReceiver {
    /// The numbers of messages received so far, by outcome, by route and by format.
    public var metrics: Metrics {
        var metrics = counters.snapshot(setup.withLock { $0.routes })
        let counts = formatCounts.withLock { $0 }
        for name in formats.names { metrics.formats[name] = counts[name] ?? 0 }
        return metrics
    }

    /// The names of the middlewares that a message passes, in order.
    public var middleware: [String] { chain.names }

    /// Probable mistakes in the chain, such as a loop guard before the deduplicator; empty if there are none.
    ///
    /// Check it in a test: `#expect(receiver.chainProblems.isEmpty)`.
    public var chainProblems: [ChainProblem] { chain.problems }

    /// The chain's loop guard, for its kill switch and its settings; nil if the chain has none.
    public var loopGuard: LoopGuard? { chain.loopGuard }
}
