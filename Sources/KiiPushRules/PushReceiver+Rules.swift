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
        chainSettings = (app, rules.serving, rules.dedupe)
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

extension PushReceiver {
    /// Applies the settings of loaded rules to the chain, as far as it can change while it runs; returns the names of
    /// those that it does not follow.
    ///
    /// Only a loop guard made from rules can change; the settings of any other belong to the program. For a receiver
    /// that was not made from rules, the names are of settings that the file states and that are known to differ.
    package func follow(_ rules: RoutingRules) -> [String] {
        guard let chain = chainSettings else { return differences(from: rules) }
        // A rules file does not choose the active layers.
        loopGuard?.change(me: rules.me, writesAs: rules.writesAs) { rules.loop.with($0.layers) }
        var names: [String] = []
        if (chain.app ?? rules.app) != app { names.append("app") }
        if rules.serving != chain.serving { names.append("serving") }
        if rules.dedupe != chain.dedupe { names.append("dedupe") }
        return names
    }

    private func differences(from rules: RoutingRules) -> [String] {
        let identities = loopGuard?.identities
        var names: [String] = []
        if let app = rules.app, app != self.app { names.append("app") }
        if !rules.me.isEmpty, Set(rules.me) != Set(identities?.me ?? []) { names.append("me") }
        let loop = loopGuard?.settings
        let differs = loop.map { rules.loop.with($0.layers) != $0 } ?? true
        if rules.statesLoop, differs { names.append("loop") }
        if !rules.writesAs.isEmpty, Set(rules.writesAs) != Set(identities?.writesAs ?? []) {
            names.append("loop.writesAs")
        }
        return names
    }
}

extension LoopSettings {
    /// The same numbers with these layers active.
    fileprivate func with(_ layers: Set<LoopLayer>) -> LoopSettings {
        var settings = self
        settings.layers = layers
        return settings
    }
}
