// Parses the settings of the chain and of the delivery.

import KiiPush

extension RulesReader {
    // MARK: Identities and scopes

    /// `["user:U1", "thing:th.x"]`: single identities.
    mutating func identities(_ node: PlacedValue) -> [Sender] {
        list(node, "a list of identities such as \"thing:th.1\"")?.compactMap { identity($0) } ?? []
    }

    /// Where each element of a list begins; empty for a value of another kind.
    func positions(_ node: PlacedValue) -> [SourcePosition] {
        (node.elements ?? []).map { position($0.offset) }
    }

    /// `user:U1`: one identity.
    mutating func identity(_ node: PlacedValue) -> Sender? {
        let expected = "an identity: \"user:ID\", \"thing:ID\" or \"admin:NAME\""
        guard let text = name(node, expected, fills: true) else { return nil }
        guard let (type, id) = owner(text, node, expected, types: Self.senderTypes) else { return nil }
        guard !id.utf8.contains(UInt8(ascii: "*")) else {
            return refuse(node.offset, "expected a single identity, found a pattern with '*'")
        }
        return type == "user" ? .user(id: id) : type == "thing" ? .thing(id: id) : .admin(id)
    }

    static let senderTypes = ["user", "thing", "admin"]

    /// The two parts of `user:U1`; reports any other text.
    mutating func owner(_ text: String, _ node: PlacedValue, _ expected: String, types: [String]) -> (String, String)? {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            return refuse(node.offset, "expected \(expected), found '\(Suggestion.shown(text))'")
        }
        let type = String(text[..<colon])
        let id = String(text[text.utf8.index(after: colon)...])
        guard types.contains(where: { $0.isExactly(type) }) else {
            return refuse(node.offset, Suggestion.unknown("type", type, known: types) + "; expected \(expected)")
        }
        guard !id.isEmpty else {
            return refuse(node.offset, "expected \(expected), found '\(Suggestion.shown(text))' without an id")
        }
        return (type, id)
    }

    /// `["app", "user:U1", "group:*"]`.
    mutating func serving(_ node: PlacedValue) -> ScopePattern? {
        let expected = "a list of scopes such as \"app\", \"user:ID\", \"group:*\" or \"thing:ID\""
        guard let nodes = list(node, expected) else { return nil }
        if nodes.isEmpty { report(node.offset, "an empty list serves nothing; leave it out to serve every scope") }
        return ScopePattern(
            nodes.compactMap { node in
                guard let text = name(node, "a scope such as \"app\" or \"user:ID\"", fills: true) else { return nil }
                return ownedScope(RulesText(text: text, isExact: false, node: node))
            })
    }

    /// `app`, `user:U1`, `group:*`.
    mutating func ownedScope(_ text: RulesText) -> ScopePattern.Alternative? {
        if text.text == "app" { return ScopePattern.Alternative(kind: .app, id: nil) }
        let expected = "\"app\", \"user:ID\", \"group:ID\" or \"thing:ID\""
        let types = ["user", "group", "thing"]
        guard let (type, id) = owner(text.text, text.node, expected, types: types) else { return nil }
        let kind: MessageScope.Kind = type == "user" ? .user : type == "group" ? .group : .thing
        return ScopePattern.Alternative(kind: kind, id: text.isExact ? .exactly(id) : TextPattern(id))
    }

    // MARK: Dedupe

    mutating func dedupe(_ node: PlacedValue) -> SeenWindow {
        var window = SeenWindow.standard
        guard let object = object(node, "an object with window, count and weak", keys: ["window", "count", "weak"])
        else { return window }
        if let age = object["window"].flatMap({ duration($0) }) { window.age = age }
        if let count = object["count"].flatMap({ integer($0, in: 0...1_000_000_000) }) { window.count = count }
        if let age = object["weak"].flatMap({ duration($0) }) { window.weakAge = age }
        return window
    }

    /// The key `dedupe` of a rule: `{"by": "data.messageId"}`.
    mutating func ruleDedupe(_ node: PlacedValue) -> (dedupe: RouteDedupe, offset: Int)? {
        guard let object = object(node, "an object with by", keys: ["by"]) else { return nil }
        let expected = "a root key of the data, such as \"data.messageId\""
        guard let node = required("by", of: object), let text = name(node, expected) else { return nil }
        guard let key = text.keyOfData, key.first != "/" else { return refuse(node, expected, found: text) }
        return (.by(data: key), node.offset)
    }

    // MARK: Loop

    mutating func loop(
        _ node: PlacedValue
    ) -> (LoopSettings, writesAs: [Sender], statesNumbers: Bool, writesAsPositions: [SourcePosition]) {
        var settings = LoopSettings.standard
        let expected = "an object with hops, echo and writesAs"
        guard let object = object(node, expected, keys: ["hops", "echo", "writesAs", "rate"]) else {
            return (settings, [], false, [])
        }
        if let node = object["rate"] { reportRate(node) }
        if let hops = object["hops"].flatMap({ integer($0, in: 0...1_000_000) }) { settings.hops = hops }
        if let echo = object["echo"].flatMap({ duration($0) }) { settings.echo = echo }
        let statesNumbers = ["hops", "echo"].contains { object[$0] != nil }
        guard let writers = object["writesAs"] else { return (settings, [], statesNumbers, []) }
        return (settings, identities(writers), statesNumbers, positions(writers))
    }

    /// The numbers of earlier versions.
    private mutating func reportRate(_ node: PlacedValue) {
        report(
            node.offset,
            "'rate' is no longer a setting of the loop guard; a rule has a \"pace\": \"standard\", \"unlimited\", or a "
                + "duration such as \"6s\" for one message in that time")
    }

    /// The key `pace` of a rule: `"standard"`, `"unlimited"`, or a duration.
    mutating func pace(_ node: PlacedValue) -> RoutePace? {
        let expected = "a pace: \"standard\", \"unlimited\", or a duration such as \"6s\""
        guard let text = string(node, expected) else { return nil }
        switch text {
        case "standard": return .standard
        case "unlimited": return .unlimited
        case _ where Duration(rule: text) == nil: return refuse(node, expected, found: text)
        default: return duration(node, isPositive: true).map { .every($0) }
        }
    }

    mutating func ruleLoop(_ node: PlacedValue) -> RouteOptions.OwnBucket? {
        guard let object = object(node, "an object with ownBucket", keys: ["ownBucket", "rate"]) else { return nil }
        if let node = object["rate"] { reportRate(node) }
        return object["ownBucket"].flatMap { choice($0, "answer to a write to the own bucket") }
    }

    // MARK: Delivery

    /// Settings that override `base`.
    mutating func delivery(_ node: PlacedValue, from base: DeliverySettings) -> DeliverySettings {
        var settings = base
        let keys = ["attempts", "backoff", "maxBackoff", "timeout", "order", "onFailure", "replacesOlder", "maxAge"]
        guard let object = object(node, "an object with \(keys.joined(separator: ", "))", keys: keys) else {
            return settings
        }
        if let attempts = object["attempts"].flatMap({ integer($0, in: 1...1000) }) { settings.attempts = attempts }
        if let backoff = object["backoff"].flatMap({ duration($0) }) {
            settings.backoff = backoff
            settings.maxBackoff = max(backoff, settings.maxBackoff)
        }
        if let node = object["maxBackoff"], let most = duration(node) {
            settings.maxBackoff = most
            if most < settings.backoff {
                report(node.offset, "expected at least the backoff, \(settings.backoff.ruleText)")
            }
        }
        if let timeout = object["timeout"].flatMap({ duration($0, isPositive: true) }) { settings.timeout = timeout }
        if let order = object["order"].flatMap({ choice($0, "order", DeliverySettings.Order.self) }) {
            settings.order = order
        }
        if let node = object["onFailure"], let answer = choice(node, "answer", DeliverySettings.OnFailure.self) {
            settings.onFailure = answer
        }
        if let replaces = object["replacesOlder"].flatMap({ bool($0) }) { settings.replacesOlder = replaces }
        if let node = object["maxAge"] {
            // A rule may allow any age even if the file's settings do not.
            let isAny = node.token.kind == .false
            if let most = isAny ? nil : duration(node, isPositive: true) { settings.maxAge = most }
            if isAny { settings.maxAge = nil }
        }
        return settings
    }
}
