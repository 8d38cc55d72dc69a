package import KiiPush

extension ChainSettings {
    init(_ rules: RoutingRules, app: String?) {
        self.init(givenApp: app, app: rules.app, serving: rules.serving, dedupe: rules.dedupe)
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
        let new = ChainSettings(rules, app: chain.givenApp)
        var names: [String] = []
        if new.app != chain.app { names.append("app") }
        if new.serving != chain.serving { names.append("serving") }
        if new.dedupe != chain.dedupe { names.append("dedupe") }
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
