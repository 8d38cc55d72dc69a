public import KiiCloud
public import KiiPush

/// What a rule writes: fields of an object.
public struct RuleWrite: Sendable, Hashable {
    /// The object.
    public let object: RuleTarget
    /// The fields that it is to have; the values may be filled in.
    public let fields: RuleValue
    /// Whether the object is to have no other fields.
    public let replaces: Bool
}

/// What a rule sends: a push to a topic.
public struct RuleSend: Sendable, Hashable {
    /// The topic.
    public let topic: RuleTarget
    /// Who sends.
    public let sender: Sender
    /// Whether the rule says so itself, rather than the file's `me`.
    let statesSender: Bool
    /// The body that Kii's REST API takes, `SendPushMessageRequest`; texts may be filled in.
    public let message: RuleValue
}

/// What a rule does to Kii's cloud for one message, with all values filled in.
public enum CloudAction: Sendable, Hashable {
    /// An object is to have these fields, and no others where it is replaced.
    case write(object: KiiURI, fields: KeyedData, replaces: Bool)
    /// A push goes to a topic: the body that Kii's REST API takes.
    case send(topic: KiiURI, sender: Sender, message: DataValue)
}

extension RuleWrite {
    func filled(_ message: PushMessage) throws(MissingRuleValue) -> CloudAction {
        guard case .object(let members) = try fields.filled(message) else {
            return .write(object: try object.filled(message), fields: [:], replaces: replaces)
        }
        return .write(object: try object.filled(message), fields: KeyedData(members), replaces: replaces)
    }
}

extension RuleSend {
    func filled(_ message: PushMessage) throws(MissingRuleValue) -> CloudAction {
        .send(
            topic: try topic.filled(message), sender: sender, message: try self.message.filled(message))
    }
}

extension CloudAction: CustomStringConvertible {
    /// The action as a rule's `then` has it, without who sends.
    package var value: DataValue {
        switch self {
        case .write(let object, let fields, let replaces):
            var members: [(key: String, value: DataValue)] = [
                ("object", .string(object.description)), ("fields", .object(fields.members)),
            ]
            if replaces { members.append(("replace", .bool(true))) }
            return .object([("write", .object(members))])
        case .send(let topic, _, let message):
            var members: [(key: String, value: DataValue)] = [("topic", .string(topic.description))]
            if case .object(let more) = message { members += more }
            return .object([("send", .object(members))])
        }
    }

    /// The action as one line of JSON, as a rule's `then` has it; holds values of the message.
    public var description: String {
        var writer = JSONWriter()
        writer.value(value)
        return writer.text
    }
}
