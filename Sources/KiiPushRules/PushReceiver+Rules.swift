public import KiiPush

extension PushReceiver {
    /// Makes a receiver with the chain that a rules file describes: its app, identities, scopes, dedupe window and loop
    /// guard.
    ///
    /// It does not load the rules: register the handlers that they name first, then call ``load(_:actions:)``. When
    /// other rules are loaded later, the chain stays the same, except for the loop guard's numbers and identities,
    /// which ``RulesGate`` updates.
    ///
    /// - Parameters:
    ///   - rules: the rules whose settings apply.
    ///   - app: the app to serve instead of the file's; nil uses the file's.
    ///   - limits: the limits of the payload decoder.
    ///   - formats: the formats of other systems.
    ///   - clock: the clock of the receiver and of its chain.
    ///   - deadLetters: stores dead letters; by default in memory, up to 1,000 letters and 8 MiB in all.
    ///   - deduplicator: the chain's first middleware, such as one with a store of yours, which has its own window; nil
    ///     makes one in memory with the file's window.
    public convenience init(
        rules: RoutingRules, app: String? = nil, limits: PayloadLimits = .standard,
        formats: PayloadFormats = .shipped, clock: any ReceiverClock = SystemClock(),
        deadLetters: any DeadLetterStore = InMemoryDeadLetterStore(), deduplicator: Deduplicator? = nil
    ) {
        self.init(app: app ?? rules.app, limits: limits, formats: formats, clock: clock, deadLetters: deadLetters) {
            deduplicator ?? Deduplicator(window: rules.dedupe)
            LoopGuard(me: rules.me, writesAs: rules.writesAs, settings: rules.loop)
            ScopeFilter(serving: rules.serving)
        }
        chainSettings = ChainSettings(rules, app: app)
    }

    /// Replaces the routes that were loaded before with those of a rules file.
    ///
    /// They keep the place of the first load: behind the routes that code had declared by then, before those that it
    /// declared later. The whole table changes at once; a message in progress keeps its routes. If it throws, nothing
    /// has changed. A rule with the id of an earlier one keeps that one's counts.
    ///
    /// - Parameters:
    ///   - rules: the rules.
    ///   - actions: runs programs and prints; needed only for rules that ask for it.
    /// - Returns: the generation of the table: the number of loads so far.
    /// - Throws: ``RulesError`` if a rule names an unregistered handler, has the id of a route that code declares, or
    ///   needs actions that are missing, or if a secret parameter has no value.
    @discardableResult
    public func load(_ rules: RoutingRules, actions: (any RuleActions)? = nil) throws(RulesError) -> Int {
        try load(rules, actions, rules.secrets)
    }

    @discardableResult
    func load(
        _ rules: RoutingRules, _ actions: (any RuleActions)?, _ secrets: RuleSecrets
    ) throws(RulesError) -> Int {
        try load { handlers, isTaken throws(RulesError) in
            let compiler = RuleCompiler(
                file: rules.file, handlers: handlers, actions: actions, maxAge: rules.delivery.maxAge,
                secrets: secrets)
            return try compiler.routes(rules.rules, taken: isTaken)
        }
    }
}
