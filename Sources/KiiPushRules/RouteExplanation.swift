package import KiiPush

/// The result of one condition of a route for one message.
///
/// Shows values of the message on purpose; keep it out of logs.
package struct RouteCheck: Sendable, Hashable {
    /// The condition's key in `when`, such as `bucket` or `data`; inside `any`, `all` and `not`, its path, such as
    /// `any/0/bucket`.
    package let name: String
    package let key: String?
    package let expected: String
    /// The message's value, as JSON; nil if it has none.
    package let actual: String?
    package let holds: Bool
    /// Why the message has no value, in a few words, or how many parts of a combined condition hold; nil if there is
    /// no more to say.
    package let reason: String?
    /// The conditions inside `any`, `all` or `not`, in order, each evaluated; empty for others.
    package let parts: [RouteCheck]
}

extension RoutingRule {
    /// Evaluates every condition of the rule, as its route would.
    package func explain(_ message: PushMessage) -> [RouteCheck] { criteria.explain(message) }

    /// The first condition that does not hold; nil if all do.
    package func firstMiss(_ message: PushMessage) -> RouteCheck? { criteria.firstMiss(message) }
}

extension RouteCriteria {
    func explain(_ message: PushMessage) -> [RouteCheck] {
        let checks = explain(message, path: "")
        if isGap == message.storage.isGap { return checks }
        func name(_ isGap: Bool) -> String { isGap ? "\"gap\"" : "\"message\"" }
        let check = RouteCheck(
            name: "on", key: nil, expected: name(isGap), actual: name(!isGap), holds: false, reason: nil, parts: [])
        return [check] + checks
    }

    /// The first check that fails, without the texts of those behind it, which take most of the time.
    fileprivate func firstMiss(_ message: PushMessage) -> RouteCheck? {
        guard isGap == message.storage.isGap else { return explain(message).first }
        return conditions(isRoot: true).lazy.map { explain($0, message, path: "") }.first { !$0.holds }
    }

    private func explain(_ message: PushMessage, path: String) -> [RouteCheck] {
        conditions(isRoot: path.isEmpty).map { explain($0, message, path: path) }
    }

    private func explain(_ condition: RuleCondition, _ message: PushMessage, path: String) -> RouteCheck {
        let name = path + condition.name
        func check(_ actual: String?, _ holds: Bool, _ reason: String?, _ parts: [RouteCheck] = []) -> RouteCheck {
            RouteCheck(
                name: name, key: condition.key, expected: condition.text(self), actual: actual, holds: holds,
                reason: reason, parts: parts)
        }
        switch condition {
        case .key(let key):
            let actual = key == .mqtt ? mqtt?.found(in: message) : key.actual(message)?.quotedAsJSON
            return check(actual, key.holds(self, message), actual == nil ? key.reasonForNothing(message) : nil)
        case .data(let data):
            let actual = data.actual(message)
            return check(actual, data.holds(for: message), actual == nil ? data.reasonForNothing(message) : nil)
        case .group(let group):
            let parts = group.paths(name).map { $0.criteria.explain(message, path: $0.path) }
            let held = parts.count { $0.allSatisfy(\.holds) }
            return check(nil, group.holds(held), group.words(held), Array(parts.joined()))
        }
    }
}

extension ConditionGroup {
    /// Whether it holds if so many of its parts hold.
    func holds(_ held: Int) -> Bool {
        switch combining {
        case .any: held > 0
        case .all: held == parts.count
        case .not: held < parts.count
        }
    }

    fileprivate func words(_ held: Int) -> String {
        switch combining {
        case .any, .all: "\(held) of \(parts.count) hold"
        case .not: held > 0 ? "it holds" : "it does not hold"
        }
    }
}

extension DataCondition {
    /// Why a message has no value: where the pointer ends, or where a root key is instead; nil if nowhere.
    fileprivate func reasonForNothing(_ message: PushMessage) -> String? {
        guard pointer != nil else { return message.placeOfNested(key) }
        var path = key[...]
        while let slash = path.lastIndex(of: "/"), slash > path.startIndex {
            path = path[..<slash]
            let isThere = DataCondition(key: String(path), predicate: .exists()).holds(for: message)
            if isThere { return "'\(path)' has no '\(key[slash...])'" }
        }
        return nil
    }
}

extension PushMessage {
    /// Where a key is inside a value of the data, in words; nil if it is not, or deeper than three levels.
    ///
    /// A key without a slash is a root key of the data, and a dot in it does not look into a value.
    fileprivate func placeOfNested(_ key: String) -> String? {
        func place(of key: Substring, in members: [(key: String, value: DataValue)], depth: Int) -> (
            path: [String], key: Substring
        )? {
            guard depth < 3 else { return nil }
            for (name, value) in members {
                let value = if case .string(let text) = value { DataValue(json: text) ?? value } else { value }
                guard case .object(let inner) = value else { continue }
                // The last part of `temp.value` may be meant as well as the whole.
                let part =
                    key.utf8.starts(with: "\(name).".utf8) ? Substring(key.utf8.dropFirst(name.utf8.count + 1)) : nil
                for key in [key, part].compactMap(\.self) {
                    if inner.contains(where: { $0.key.utf8.elementsEqual(key.utf8) }) { return ([name], key) }
                    if let found = place(of: key, in: inner, depth: depth + 1) {
                        return ([name] + found.path, found.key)
                    }
                }
            }
            return nil
        }
        return place(of: key[...], in: data.members, depth: 0).map { found in
            let what = found.key.utf8.elementsEqual(key.utf8) ? "it" : "'\(found.key)'"
            let pointer = (found.path + ["\(found.key)"]).map { "/\($0.asPointerPart)" }.joined()
            return "\(what) is inside '\(found.path.joined(separator: "."))'; write \(pointer.quotedAsJSON)"
        }
    }
}

extension WhenCondition {
    /// The message's value for this condition, from its public properties; the condition `mqtt` looks at several.
    fileprivate func actual(_ message: PushMessage) -> String? {
        switch self {
        case .kind: message.kind.rawValue
        case .bucket: message.bucket?.name
        case .object: message.object?.id
        case .topic: message.topic?.name
        case .scope:
            message.scope.typeName.map { type in
                switch message.scope.owner {
                case nil, .app: type
                case .user(let user): "user:\(user.id)"
                case .group(let group): "group:\(group.id)"
                case .thing(let thing): "thing:\(thing.id)"
                }
            }
        case .scopeID: message.scope.id
        case .events: message.event?.name
        case .sender: message.sender.map { "\($0.typeName):\($0.id)" }
        case .format: message.format
        case .type: ForeignPushMessage(message)?.type
        case .command:
            DirectPushMessage(message)?.command.map { $0.actions.map(\.name).joined(separator: ", ") }
                ?? (message.kind == .directPush && message.storage.mqtt?.responseTopic != nil ? "*" : nil)
        case .transport: message.storage.routedTransport?.name
        case .mqtt: nil
        case .certainty: message.certainty.rawValue
        }
    }

    /// Why a message has no value for this condition.
    fileprivate func reasonForNothing(_ message: PushMessage) -> String? {
        func reason(_ name: String?) -> String {
            name == nil ? "the payload names none" : "the payload names it, but states no complete scope"
        }
        switch self {
        case .bucket, .object:
            guard message.kind == .pushToApp else { return "a \(message.kind) has none" }
            return reason(message[self == .bucket ? .bucketID : .objectID])
        case .topic:
            guard message.kind == .pushToUser else { return "a \(message.kind) has none" }
            return reason(message[.topic])
        case .scope: return "the payload states none"
        case .scopeID: return message.scope.kind == .app ? "the app's scope has no id" : "the payload states none"
        case .sender: return "the payload does not say who sent it"
        case .format: return "no format has claimed the payload"
        case .type:
            return message.format == nil ? "no format has claimed the payload" : "its format has read none"
        case .command:
            guard message.kind == .directPush else { return "a \(message.kind) is no command" }
            return message.data["commandID"] != nil && message.data["actions"] != nil
                ? "its 'commandID' and 'actions' have another form than a command of Thing-IF"
                : "it is no command of Thing-IF, and has no response topic"
        case .transport: return "none was given"
        case .mqtt: return "nothing is known of MQTT"
        case .kind, .events, .certainty: return nil
        }
    }

    /// Whether this condition alone holds.
    func holds(_ criteria: RouteCriteria, _ message: PushMessage) -> Bool {
        if self == .certainty { return criteria.certainty.contains(message.certainty) }
        var only = RouteCriteria()
        switch self {
        case .kind: only.kinds = criteria.kinds
        case .scope: only.scope = criteria.scope
        case .sender: only.sender = criteria.sender
        case .mqtt: only.mqtt = criteria.mqtt
        default: if let pattern { only[keyPath: pattern.path] = criteria[keyPath: pattern.path] }
        }
        let buffer = message.storage.buffer
        return only.matchesContent(buffer.span, message.storage)
    }
}

extension MQTTPattern {
    /// What the broker said of that which the condition asks for, in the condition's form; nil if it said nothing.
    fileprivate func found(in message: PushMessage) -> String? {
        guard let publish = message.storage.mqtt else { return nil }
        let properties = userProperties.keys.sorted().compactMap { name in publish[name].map { (name, $0) } }
        return JSONWriter.object { writer in
            if !topics.isEmpty { writer.member("topic", publish.topic) }
            if isRetained != nil { writer.member("retained", publish.isRetained) }
            if contentType != nil, let type = publish.contentType { writer.member("contentType", type) }
            guard !properties.isEmpty else { return }
            writer.member("userProperties") { writer in
                for (name, value) in properties { writer.member(name, value) }
            }
        }
    }
}

extension RoutingRule {
    /// What the rule requires: each condition that is set, as the rules file writes it.
    package var wanted: [(name: String, key: String?, text: String)] {
        criteria.conditions(isRoot: false).map { (name: $0.name, key: $0.key, text: $0.text(criteria)) }
    }
}

extension String {
    /// The text as a part of a JSON Pointer.
    var asPointerPart: String {
        split(separator: "~", omittingEmptySubsequences: false).joined(separator: "~0")
            .split(separator: "/", omittingEmptySubsequences: false).joined(separator: "~1")
    }
}
