package import KiiPush

/// One rule of a rules file: a route as data.
package struct RoutingRule: Sendable {
    package enum Action: Sendable, Hashable {
        case handler(String)
        /// Runs a program: its path and its arguments, without a shell.
        case run([String])
        /// Prints the message as one line of JSON.
        case print
        case write(RuleWrite)
        case send(RuleSend)
    }

    /// The position of one condition: a key of `when`, or one of `data`.
    package struct Condition: Sendable, Hashable {
        /// The key of `when`, such as `bucket` or `data`; inside `any`, `all` and `not`, its path, such as
        /// `any/0/bucket`.
        package let name: String
        package let key: String?
        package let position: SourcePosition
    }

    /// The most levels of `any`, `all` and `not` inside each other.
    package static let mostLevels = 8
    /// The most objects of conditions in all the `any`, `all` and `not` of a rule.
    package static let mostParts = 100

    /// The rule's id, unique in its file; also its route's.
    package let id: String
    package let action: Action
    package let options: RouteOptions
    package let writes: [Target]
    package let position: SourcePosition
    /// The position of its action: the name of its handler, its program, `print`, or what it writes or sends to.
    package let actionPosition: SourcePosition
    package internal(set) var conditions: [Condition]
    package internal(set) var criteria: RouteCriteria
    /// Where the delivery settings begin; nil if the rule does not state them.
    let deliveryPosition: SourcePosition?
    /// Where the field of the deduplication key is; nil if the rule does not state it.
    let dedupePosition: SourcePosition?
    /// The path of the part of `when` that the linter checks as a rule; nil for the whole rule.
    var part: String?
}

extension RoutingRule: CustomStringConvertible {
    /// The rule's id and its position in the file, such as `'settings' (3:1)`.
    package var description: String { "'\(Suggestion.shown(id))' (\(position))" }
}

extension RoutingRule {
    /// The positions of the conditions that the file states, by ``label(_:_:)``.
    var places: [ExactText: SourcePosition] {
        Dictionary(conditions.map { (Self.label($0.name, $0.key), $0.position) }) { first, _ in first }
    }

    /// A condition's name, with the data's key behind a space, which no name has.
    static func label(_ name: String, _ key: String?) -> ExactText { ExactText(key.map { "\(name) \($0)" } ?? name) }
}

extension RulesReader {
    static let ruleKeys = ["id", "on", "when", "then", "continue", "writes", "pace", "delivery", "loop", "dedupe"]

    /// The rules of a file; omits a rule with a problem, which also refuses the file.
    mutating func rules(
        _ node: PlacedValue, delivery: DeliverySettings, sender: Sender?
    ) -> [RoutingRule] {
        var ids: [ExactText: Int] = [:]
        var rules: [RoutingRule] = []
        for node in list(node, "a list of rules") ?? [] {
            guard let object = object(node, "a rule: an object with id, when and then", keys: Self.ruleKeys) else {
                continue
            }
            if let rule = rule(object, &ids, delivery, sender) { rules.append(rule) }
        }
        return rules
    }

    private mutating func rule(
        _ object: RulesObject, _ ids: inout [ExactText: Int], _ delivery: DeliverySettings, _ sender: Sender?
    ) -> RoutingRule? {
        let id = required("id", of: object).flatMap { ruleID($0, &ids) }
        var criteria = RouteCriteria()
        var conditions: [RoutingRule.Condition] = []
        if let node = object["when"] { (criteria, conditions) = when(node) }
        if let node = object["on"] { criteria.isGap = on(node, conditions) }
        let action = required("then", of: object).flatMap { self.action($0, sender) }
        var options = RouteOptions()
        if let node = object["continue"], bool(node) == true { options.flow = .continue }
        let writes = object["writes"].map { self.writes($0) } ?? []
        options.delivery = object["delivery"].map { self.delivery($0, from: delivery) }
        if let pace = object["pace"].flatMap({ self.pace($0) }) { options.pace = pace }
        if criteria.isGap { options.pace = .unlimited }
        if let answer = object["loop"].flatMap({ ruleLoop($0) }) { options.ownBucket = answer }
        let dedupe = object["dedupe"].flatMap { ruleDedupe($0) }
        options.dedupe = dedupe?.dedupe
        guard let id, let action else { return nil }
        return RoutingRule(
            id: id, action: action.action, options: options, writes: writes, position: position(object.node.offset),
            actionPosition: position(action.offset), conditions: conditions, criteria: criteria,
            deliveryPosition: object["delivery"].map { position($0.offset) },
            dedupePosition: dedupe.map { position($0.offset) })
    }

    private mutating func ruleID(_ node: PlacedValue, _ ids: inout [ExactText: Int]) -> String? {
        guard let id = name(node, "the rule's id") else { return nil }
        if let first = ids[ExactText(id)] {
            let place = position(first)
            return refuse(node.offset, "a second rule '\(Suggestion.shown(id))'; the first is at \(place)")
        }
        ids[ExactText(id)] = node.offset
        // Such an id could not be switched off.
        guard KillTarget(id) == .route(id) else {
            let problem =
                if id == "*" {
                    ", found what the kill switch treats as everything"
                } else if id.begins(exactlyWith: "kiicloud:") {
                    ", found what the kill switch treats as a URI"
                } else {
                    " without '*' and '://', which the kill switch does not take"
                }
            return refuse(node.offset, "expected the rule's id\(problem)")
        }
        return id
    }

    static let actions = ["handler", "run", "print", "write", "send"]

    private mutating func action(
        _ node: PlacedValue, _ sender: Sender?
    ) -> (action: RoutingRule.Action, offset: Int)? {
        let expected = "an object with handler, run, print, write or send"
        guard let object = object(node, expected, keys: Self.actions) else { return nil }
        let members = object.members.filter { member in Self.actions.contains { $0.isExactly(member.key) } }
        guard let only = members.first, members.count == 1 else {
            // An unknown key was already reported, and was probably meant as one of them.
            if members.count > 1 || object.members.isEmpty {
                report(
                    node.offset, "expected exactly one of handler, run, print, write and send, found \(members.count)")
            }
            return nil
        }
        let value = only.value
        switch only.key {
        case "handler": return name(value, "the name of a handler").map { (.handler($0), value.offset) }
        case "run": return arguments(value).map { (.run($0), value.offset) }
        case "write": return write(value).map { (.write($0.write), $0.offset) }
        case "send": return send(value, sender).map { (.send($0.push), $0.offset) }
        default:
            guard let isOn = bool(value) else { return nil }
            guard isOn else {
                return refuse(value.offset, "expected true: a rule that prints nothing needs another action")
            }
            return (.print, value.offset)
        }
    }

    private mutating func arguments(_ node: PlacedValue) -> [String]? {
        guard let nodes = list(node, "a list with a program and its arguments") else { return nil }
        guard let program = nodes.first else {
            return refuse(node.offset, "expected a program and its arguments, found an empty list")
        }
        guard let path = name(program, "the path of a program", fills: true) else { return nil }
        var arguments = [path]
        for node in nodes.dropFirst() {
            guard let text = string(node, "an argument, a string"),
                let argument = filled(text, at: node, allowsSecrets: true)
            else { return nil }
            guard !argument.utf8.contains(0) else {
                return refuse(node.offset, "an argument cannot contain a zero byte")
            }
            arguments.append(argument)
        }
        return arguments
    }

    private mutating func writes(_ node: PlacedValue) -> [RoutingRule.Target] {
        let expected = "the kiicloud:// URI of a bucket, an object or a topic"
        return list(node, "a list of kiicloud:// URIs")?.compactMap { node in
            target(node, expected, fills: true) { $0.bucket != nil || $0.topic != nil }
                .map { RoutingRule.Target(uri: $0, position: position(node.offset), template: nil) }
        } ?? []
    }
}

extension RoutingRule {
    /// Something that a rule writes or sends to.
    package struct Target: Sendable {
        package let uri: KiiURI
        package let position: SourcePosition
        /// Its ids and names, with placeholders; nil for a URI of `writes`, which is literal.
        let template: RuleTarget?
    }

    /// All targets of the rule, in the order of the file; its own action comes last.
    package var targets: [Target] {
        writes + (ownTarget.map { [Target(uri: $0.uri, position: actionPosition, template: $0)] } ?? [])
    }

    /// The target of the rule's own action; nil if it has none.
    package var ownTarget: RuleTarget? {
        switch action {
        case .write(let write): write.object
        case .send(let push): push.topic
        case .handler, .run, .print: nil
        }
    }

    /// Every placeholder of the rule's own action, without duplicates.
    var filledFields: [RuleField] {
        let all: [RuleField] =
            switch action {
            case .write(let write): write.object.fields + write.fields.fields
            case .send(let push): push.topic.fields + push.message.fields
            case .handler, .run, .print: []
            }
        var seen: Set<ExactText> = []
        return all.filter { seen.insert(ExactText($0.name)).inserted }
    }
}

extension RoutingRule.Target {
    /// The criteria that messages caused by a write or a push satisfy, as far as known in advance; nil if it causes no
    /// push.
    ///
    /// The values of placeholders satisfy the conditions of the writing rule.
    func criteria(of taken: RouteCriteria) -> RouteCriteria? {
        var criteria = RouteCriteria(certainty: [.certain])
        // The parts of the template stand in the order in which the URI's ids and names are asked for.
        var parts = template?.parts.makeIterator()
        func pattern(_ text: String) -> TextPattern { parts?.next()?.pattern(taken) ?? .exactly(text) }
        switch uri.owner {
        case .app: criteria.scope = .app
        case .user(let id): criteria.scope = .user(pattern(id))
        case .group(let id): criteria.scope = .group(pattern(id))
        case .thing(let id): criteria.scope = .thing(pattern(id))
        case .admin: return nil
        }
        switch uri.resource {
        case .none: return nil
        case .topic(let name): criteria.topic = pattern(name)
        case .bucket(let name, _): criteria.bucket = pattern(name)
        case .object(let name, _, let id):
            criteria.bucket = pattern(name)
            criteria.object = pattern(id)
        }
        return criteria
    }
}

extension RuleTemplate {
    /// The texts between the placeholders, with an empty one on each side of a placeholder.
    var literalPieces: [String] {
        var pieces = [""]
        for part in parts {
            switch part {
            case .text(let text): pieces[pieces.count - 1] += text
            case .field, .secret: pieces.append("")
            }
        }
        return pieces
    }

    /// The texts that it can become in a message that satisfies these conditions.
    fileprivate func pattern(_ taken: RouteCriteria) -> TextPattern {
        if parts.count == 1, let known = fields.first?.pattern(taken) { return known }
        let pieces = literalPieces
        return pieces.count == 1 ? .exactly(pieces[0]) : TextPattern([.pieces(pieces)])
    }
}

extension RuleField {
    /// The constraint that a condition puts on the field's value.
    fileprivate func pattern(_ taken: RouteCriteria) -> TextPattern? {
        switch source {
        case .message(.bucket): return taken.bucket
        case .message(.object): return taken.object
        case .message(.topic): return taken.topic
        case .message(.scopeID):
            if let id = taken.scopeID { return id }
            guard let alternatives = taken.scope?.alternatives, !alternatives.isEmpty else { return nil }
            let ids = alternatives.compactMap(\.id)
            return ids.count == alternatives.count ? .anyOf(ids) : nil
        case .data, .message: return nil
        }
    }
}
