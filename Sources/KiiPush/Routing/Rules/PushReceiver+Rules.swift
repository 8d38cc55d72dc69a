import Synchronization

extension PushReceiver {
    /// Makes a receiver with the chain that a rules file asks for: its app, identities, scopes, dedupe window and loop guard.
    ///
    /// The rules are not loaded yet: register the handlers that they name first, then call ``load(_:actions:)``. The
    /// chain stays as it is when other rules are loaded later, but for the loop guard's numbers and identities, which
    /// `RulesGate` of KiiPushTesting takes over.
    ///
    /// - Parameters:
    ///   - rules: the rules whose settings count.
    ///   - app: the app that is served instead of the file's; nil takes that.
    ///   - limits: the bounds within which payloads are read.
    ///   - clock: the clock of the receiver and of its chain.
    ///   - deadLetters: where messages are put aside; without one, in memory: 1,000 letters of 8 MiB in all.
    ///   - deduplicator: the chain's first stage, such as one on a store of yours, whose window is then its own; nil
    ///     takes one in memory with the file's window.
    ///   - breakers: keeps the loop guard's open breakers for the next process; without one they are lost with this one.
    public convenience init(
        rules: RoutingRules, app: String? = nil, limits: PayloadLimits = .standard,
        clock: any ReceiverClock = SystemClock(), deadLetters: any DeadLetterStore = InMemoryDeadLetterStore(),
        deduplicator: Deduplicator? = nil, breakers: (any BreakerStore)? = nil
    ) {
        self.init(app: app ?? rules.app, limits: limits, clock: clock, deadLetters: deadLetters) {
            deduplicator ?? Deduplicator(window: rules.dedupe)
            LoopGuard(me: rules.me, writesAs: rules.writesAs, settings: rules.loop, breakers: breakers)
            ScopeRouter(serving: rules.serving)
        }
        setup.withLock { $0.rules.chain = ChainSettings(rules, app: app) }
    }

    /// Registers a handler under the name by which rules call it.
    ///
    /// Registering makes no route: a handler that no rule names is never called. One name again takes the place of the
    /// first from the next ``load(_:actions:)`` on.
    ///
    /// - Parameters:
    ///   - name: the name.
    ///   - handler: called with each message of the rules that name it; one that throws is the outcome
    ///     ``Outcome/failed(_:)``.
    public func register(
        _ name: String, handler: @escaping @Sendable (PushMessage, HandlerContext) async throws -> Void
    ) {
        setup.withLock { $0.rules.handlers[ExactText(name)] = handler }
    }

    /// Puts the routes of a rules file among the receiver's, in place of those that were loaded before.
    ///
    /// They stand where the first ones were loaded: behind the routes that code had declared by then, before those that
    /// it declared later. The whole table changes at once; a message that is on its way keeps the routes that it was
    /// given. When it throws, nothing has changed. A rule that has the id of an earlier one goes on with its counts.
    ///
    /// - Parameters:
    ///   - rules: the rules.
    ///   - actions: what runs programs and prints; needed only for rules that ask for it.
    /// - Returns: the generation of the table: how often rules were loaded.
    /// - Throws: ``RulesError`` when a rule names a handler that nobody registered, has the id of a route that code
    ///   declares, or asks for actions that are missing.
    @discardableResult
    public func load(_ rules: RoutingRules, actions: (any RuleActions)? = nil) throws(RulesError) -> Int {
        while true {
            let (before, routes, handlers) = setup.withLock { ($0.revision, $0.routes, $0.rules) }
            // Outside the lock: ten thousand rules take milliseconds, and messages keep coming.
            let own = handlers.routes ?? routes.count..<routes.count
            let declared = Set((routes[..<own.lowerBound] + routes[own.upperBound...]).map { ExactText($0.id) })
            let compiler = RuleCompiler(
                file: rules.file, handlers: handlers.handlers, actions: actions, maxAge: rules.delivery.maxAge)
            let loaded = try compiler.routes(rules.rules) { declared.contains(ExactText($0)) }
            var all = routes
            all.replaceSubrange(own, with: loaded)
            let table = RouteTable(all, generation: handlers.generation + 1)
            let isDone = setup.withLock { setup in
                guard setup.revision == before else { return false }
                loaded.takeCounts(of: setup.routes[own])
                setup.rules.routes = own.lowerBound..<(own.lowerBound + loaded.count)
                setup.rules.generation += 1
                setup.replaceRoutes(all, table)
                return true
            }
            if isDone { return table.generation }
        }
    }

    /// How often rules were loaded; 0 before the first time.
    public var rulesGeneration: Int { setup.withLock { $0.rules.generation } }

    /// The routes in order of declaration, those of rules among them.
    public var routes: [Route] { setup.withLock { $0.routes } }
}

extension [Route] {
    /// Goes on with the counts of routes that had the same ids; of messages on their way the old ones keep theirs.
    fileprivate func takeCounts(of earlier: ArraySlice<Route>) {
        var byID: [ExactText: Route] = [:]
        for route in earlier { byID[ExactText(route.id)] = route }
        for route in self {
            guard let before = byID[ExactText(route.id)] else { continue }
            route.handled.add(before.handled.load(ordering: .relaxed), ordering: .relaxed)
            route.failed.add(before.failed.load(ordering: .relaxed), ordering: .relaxed)
            route.held.add(before.held.load(ordering: .relaxed), ordering: .relaxed)
            route.expired.add(before.expired.load(ordering: .relaxed), ordering: .relaxed)
        }
    }
}
