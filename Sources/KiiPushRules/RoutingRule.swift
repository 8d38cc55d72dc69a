package import KiiPush

/// One rule of a rules file: a route as data.
package struct RoutingRule: Sendable {
    /// What a rule does with the messages that it matches.
    package enum Action: Sendable, Hashable {
        /// Calls a handler that the program registered by this name.
        case handler(String)
        /// Runs a program: its path and its arguments, without a shell.
        case run([String])
        /// Prints the message as one line of JSON.
        case print
        /// Writes an object of Kii's cloud.
        case write(RuleWrite)
        /// Sends a push to a topic.
        case send(RuleSend)
    }

    /// The position of one condition: a key of `when`, or one of `data`.
    package struct Condition: Sendable, Hashable {
        /// The key of `when`, such as `bucket` or `data`; inside `any`, `all` and `not`, its path, such as
        /// `any/0/bucket`.
        package let name: String
        /// The key of the data, if ``name`` is `data`.
        package let key: String?
        /// The position of the condition's key.
        package let position: SourcePosition
    }

    /// The most levels of `any`, `all` and `not` inside each other.
    package static let mostLevels = 8
    /// The most objects of conditions in all the `any`, `all` and `not` of a rule.
    package static let mostParts = 100

    /// The rule's id, unique in its file; also its route's.
    package let id: String
    /// Its action.
    package let action: Action
    /// Whether later routes may also match the message.
    package let flow: RouteFlow
    /// The declared writes of its handler.
    package let writes: [KiiURI]
    /// How a service delivers its messages; nil uses the service's settings.
    package let delivery: DeliverySettings?
    /// How fast messages of one object, sender or conversation are handled beyond 20 at once.
    package let pace: RoutePace
    /// What happens when its handler declares a write that would call its own route.
    package let ownBucket: RouteOptions.OwnBucket
    /// The deduplication key of its messages; nil uses automatic keys.
    package let dedupe: RouteDedupe?
    /// Where the rule begins.
    package let position: SourcePosition
    /// The position of its action: the name of its handler, its program, `print`, or what it writes or sends to.
    package let actionPosition: SourcePosition
    /// The positions of its conditions, in the order of the file.
    package internal(set) var conditions: [Condition]

    package internal(set) var criteria: RouteCriteria

    /// Where ``delivery`` begins; nil if the rule does not state it.
    let deliveryPosition: SourcePosition?

    let writePositions: [SourcePosition]

    let dedupePosition: SourcePosition?

    /// The path of the part of `when` that the linter checks as a rule; nil for the whole rule.
    var part: String?
}

extension RoutingRule: CustomStringConvertible {
    /// The rule's id and its position in the file, such as `'settings' (3:1)`.
    package var description: String { "'\(Suggestion.shown(id))' (\(position))" }
}

extension RulesReader {
    static let ruleKeys = ["id", "on", "when", "then", "continue", "writes", "pace", "delivery", "loop", "dedupe"]

    /// The rules of a file; omits a rule with a problem, which also refuses the file.
    mutating func rules(
        _ node: RulesNode, delivery: DeliverySettings, sender: Sender?
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
        if let node = object["on"] { criteria.isGap = on(node, object["when"]) }
        let action = required("then", of: object).flatMap { self.action($0, sender) }
        let goesOn = object["continue"].flatMap { bool($0) } ?? false
        let writes = object["writes"].map { self.writes($0) } ?? []
        let ownDelivery = object["delivery"].map { self.delivery($0, from: delivery) }
        let pace = object["pace"].flatMap { self.pace($0) } ?? .standard
        let ownBucket = object["loop"].flatMap { ruleLoop($0) } ?? .warn
        let dedupe = object["dedupe"].flatMap { ruleDedupe($0) }
        guard let id, let action else { return nil }
        return RoutingRule(
            id: id, action: action.action, flow: goesOn ? .continue : .stop, writes: writes.map(\.uri),
            delivery: ownDelivery, pace: pace, ownBucket: ownBucket, dedupe: dedupe?.dedupe,
            position: position(object.node.offset),
            actionPosition: position(action.offset),
            conditions: conditions, criteria: criteria,
            deliveryPosition: object["delivery"].map { position($0.offset) },
            writePositions: writes.map { position($0.offset) },
            dedupePosition: dedupe.map { position($0.offset) })
    }

    private mutating func ruleID(_ node: RulesNode, _ ids: inout [ExactText: Int]) -> String? {
        guard let id = name(node, "the rule's id") else { return nil }
        if let first = ids[ExactText(id)] {
            let place = position(first)
            report(node.offset, "a second rule '\(Suggestion.shown(id))'; the first is at \(place)")
            return nil
        }
        ids[ExactText(id)] = node.offset
        // Such an id could not be switched off: it has another meaning there.
        guard id != "*", !id.begins(exactlyWith: "kiicloud:") else {
            report(
                node.offset,
                "expected the rule's id, found what the kill switch treats as \(id == "*" ? "everything" : "a URI")")
            return nil
        }
        return id
    }

    static let actions = ["handler", "run", "print", "write", "send"]

    private mutating func action(
        _ node: RulesNode, _ sender: Sender?
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
                report(value.offset, "expected true: a rule that prints nothing needs another action")
                return nil
            }
            return (.print, value.offset)
        }
    }

    private mutating func arguments(_ node: RulesNode) -> [String]? {
        guard let nodes = list(node, "a list with a program and its arguments") else { return nil }
        guard let program = nodes.first else {
            report(node.offset, "expected a program and its arguments, found an empty list")
            return nil
        }
        guard let path = name(program, "the path of a program", fills: true) else { return nil }
        var arguments = [path]
        for node in nodes.dropFirst() {
            guard let text = string(node, "an argument, a string"),
                let argument = filled(text, at: node, allowsSecrets: true)
            else { return nil }
            guard !argument.utf8.contains(0) else {
                report(node.offset, "an argument cannot contain a zero byte")
                return nil
            }
            arguments.append(argument)
        }
        return arguments
    }

    private mutating func writes(_ node: RulesNode) -> [(uri: KiiURI, offset: Int)] {
        let expected = "the kiicloud:// URI of a bucket, an object or a topic"
        return list(node, "a list of kiicloud:// URIs")?.compactMap { node in
            target(node, expected, fills: true) { $0.resource != .none }.map { ($0, node.offset) }
        } ?? []
    }
}
