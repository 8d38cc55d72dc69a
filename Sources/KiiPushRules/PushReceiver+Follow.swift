package import KiiPush

extension ChainSettings {
    init(_ rules: RoutingRules, app: String?) {
        self.init(givenApp: app, app: rules.app, serving: rules.serving, dedupe: rules.dedupe)
    }
}

extension PushReceiver {
    /// Brings the chain in line with the settings of rules that were loaded, as far as it can change while it runs.
    ///
    /// Only the loop guard can, and only one that was made of rules: the settings of another are its program's choice.
    ///
    /// - Returns: the settings of the file that the chain does not follow, as they are named there. Of a receiver that
    ///   was not made of rules, those that the file states and that are known to differ.
    package func follow(_ rules: RoutingRules) -> [String] {
        guard let chain = chainSettings else { return differences(from: rules) }
        if let loopGuard {
            // A rules file has no say in which layers are on.
            loopGuard.settings = rules.loop.with(loopGuard.settings.layers)
            loopGuard.setIdentities(me: rules.me, writesAs: rules.writesAs)
        }
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
    /// The same numbers with these layers on.
    fileprivate func with(_ layers: Set<LoopLayer>) -> LoopSettings {
        var settings = self
        settings.layers = layers
        return settings
    }
}
