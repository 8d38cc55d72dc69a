// Parses `write` and `send` actions.

import KiiCloud
import KiiPush

extension RulesReader {
    static let writeKeys = ["object", "fields", "replace"]

    /// The key `write` of `then`: an object and its fields.
    mutating func write(_ node: PlacedValue) -> (write: RuleWrite, offset: Int)? {
        guard let object = object(node, "an object with object and fields", keys: Self.writeKeys) else { return nil }
        let place = required("object", of: object)
        let target = place.flatMap { cloudTarget($0, "the kiicloud:// URI of an object") { $0.object != nil } }
        let fields = required("fields", of: object).flatMap { objectFields($0) }
        let replaces = object["replace"].flatMap { bool($0) } ?? false
        guard let place, let target, let fields else { return nil }
        return (RuleWrite(object: target, fields: fields, replaces: replaces), place.offset)
    }

    /// The key `send` of `then`: the body of Kii's REST API, with the topic and the sender beside it.
    mutating func send(_ node: PlacedValue, _ standard: Sender?) -> (push: RuleSend, offset: Int)? {
        guard let object = object(node, "an object with topic and data") else { return nil }
        let place = required("topic", of: object)
        let target = place.flatMap { cloudTarget($0, "the kiicloud:// URI of a topic") { $0.topic != nil } }
        let stated = object["as"].flatMap { identity($0) }
        checkBody(object)
        let members = object.members.filter { !Self.besideBody.containsExactly($0.key) }
        let message = ruleValue(members)
        guard let place, let target, let message else { return nil }
        guard let sender = stated ?? standard else {
            if object["as"] == nil {
                report(node.offset, "expected who sends: add \"as\": \"user:ID\" or \"thing:ID\", or 'me' to the file")
            }
            return nil
        }
        return (RuleSend(topic: target, sender: sender, message: message), place.offset)
    }

    /// The keys of `send` that are not part of the body.
    static let besideBody = ["topic", "as"]

    /// Reports an invalid body; a text with placeholders counts as a text.
    private mutating func checkBody(_ object: RulesObject) {
        let start = object.node.offset
        do throws(MessageBodyError) {
            _ = try OutgoingMessage(body: Array(source.bytes[object.node.token.range]), beside: Self.besideBody)
        } catch {
            let path = error.path.isEmpty ? "" : "\(error.path): "
            report(start + error.offset, "\(path)\(error.detail)")
        }
    }

    private mutating func cloudTarget(
        _ node: PlacedValue, _ what: String, _ accepts: (KiiURI) -> Bool
    ) -> RuleTarget? {
        guard let uri = target(node, what, fills: false, accepts) else { return nil }
        return filled(node) { table throws(RuleTemplateError) in try RuleTarget(uri, &table) }
    }

    // MARK: Values

    private mutating func objectFields(_ node: PlacedValue) -> RuleValue? {
        guard let object = object(node, "an object with fields") else { return nil }
        if object.members.isEmpty { report(node.offset, "expected at least one field, found none") }
        for member in object.members where member.key.begins(exactlyWith: "_") {
            report(member.keyOffset, "a field whose name begins with '_' belongs to Kii or to the loop guard")
        }
        return ruleValue(object.members)
    }

    private mutating func ruleValue(_ members: [PlacedValue.Member]) -> RuleValue? {
        var values: [RuleValue.Member] = []
        for member in members {
            guard let value = ruleValue(member.value) else { continue }
            values.append(RuleValue.Member(key: member.key, value: value))
        }
        return values.count == members.count ? .object(values) : nil
    }

    private mutating func ruleValue(_ node: PlacedValue) -> RuleValue? {
        switch node.token.kind {
        case .string:
            let text = text(node)
            return filled(node) { table throws(RuleTemplateError) in
                // Alone, a value keeps its type.
                if let value = try table.value(text, allowsSecret: true) { return .fixed(value) }
                return .template(try RuleTemplate(text, &table))
            }
        case .number, .true, .false, .null, .absent:
            return .fixed(node.value)
        case .array:
            let nodes = node.elements ?? []
            let values = nodes.compactMap { ruleValue($0) }
            return values.count == nodes.count ? .array(values) : nil
        case .object: return object(node, "an object").flatMap { ruleValue($0.members) }
        }
    }
}
