public import KiiPush

extension PushReceiver {
    /// Makes a receiver with the chain that a rules file asks for: its app, identities, scopes, dedupe window and loop
    /// guard.
    ///
    /// The rules are not loaded yet: register the handlers that they name first, then call ``load(_:actions:)``. The
    /// chain stays as it is when other rules are loaded later, but for the loop guard's numbers and identities, which
    /// ``RulesGate`` takes over.
    ///
    /// - Parameters:
    ///   - rules: the rules whose settings count.
    ///   - app: the app that is served instead of the file's; nil takes that.
    ///   - limits: the bounds within which payloads are read.
    ///   - clock: the clock of the receiver and of its chain.
    ///   - deadLetters: where messages are put aside; without one, in memory: 1,000 letters of 8 MiB in all.
    ///   - deduplicator: the chain's first stage, such as one on a store of yours, whose window is then its own; nil
    ///     takes one in memory with the file's window.
    ///   - breakers: keeps the loop guard's open breakers for the next process; without one they are lost with this
    ///     one.
    public convenience init(
        rules: RoutingRules, app: String? = nil, limits: PayloadLimits = .standard,
        clock: any ReceiverClock = SystemClock(), deadLetters: any DeadLetterStore = InMemoryDeadLetterStore(),
        deduplicator: Deduplicator? = nil, breakers: (any BreakerStore)? = nil
    ) {
        self.init(app: app ?? rules.app, limits: limits, clock: clock, deadLetters: deadLetters) {
            deduplicator ?? Deduplicator(window: rules.dedupe)
            LoopGuard(me: rules.me, writesAs: rules.writesAs, settings: rules.loop, breakers: breakers)
            ScopeFilter(serving: rules.serving)
        }
        chainSettings = ChainSettings(rules, app: app)
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
        try load { handlers, isTaken throws(RulesError) in
            let compiler = RuleCompiler(
                file: rules.file, handlers: handlers, actions: actions, maxAge: rules.delivery.maxAge)
            return try compiler.routes(rules.rules, taken: isTaken)
        }
    }
}
