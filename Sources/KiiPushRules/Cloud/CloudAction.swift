public import KiiCloud
public import KiiPush

/// A rule's write: fields of an object.
package struct RuleWrite: Sendable, Hashable {
    /// The object.
    package let object: RuleTarget
    /// The fields that the object gets; values may contain `${…}` placeholders.
    package let fields: RuleValue
    /// Whether the object's other fields are removed.
    package let replaces: Bool
}

/// A push that a rule sends to a topic.
package struct RuleSend: Sendable, Hashable {
    /// The topic.
    package let topic: RuleTarget
    /// The identity that sends.
    package let sender: Sender
    /// The body of Kii's REST API, `SendPushMessageRequest`; texts may contain placeholders.
    package let message: RuleValue
}

/// A rule's action in Kii's cloud for one message, with all placeholders filled in.
@nonexhaustive
public enum CloudAction: Sendable, Hashable {
    /// Sets these fields of an object, and removes the others if it replaces the object.
    case write(object: KiiURI, fields: KeyedData, replaces: Bool)
    /// Sends a push to a topic, with the body of Kii's REST API.
    case send(topic: KiiURI, sender: Sender, message: DataValue)
}

extension RuleWrite {
    func filled(_ message: PushMessage, _ secrets: RuleSecrets) throws(MissingRuleValue) -> CloudAction {
        guard case .object(let members) = try fields.filled(message, secrets) else {
            return .write(object: try object.filled(message), fields: [:], replaces: replaces)
        }
        return .write(object: try object.filled(message), fields: KeyedData(members), replaces: replaces)
    }
}

extension RuleSend {
    func filled(_ message: PushMessage, _ secrets: RuleSecrets) throws(MissingRuleValue) -> CloudAction {
        .send(
            topic: try topic.filled(message), sender: sender, message: try self.message.filled(message, secrets))
    }
}

extension CloudAction: CustomStringConvertible {
    /// The action as a rule's `then` writes it, without the sender.
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

    /// The action as one line of JSON, as a rule's `then` writes it; contains values of the message.
    public var description: String { value.jsonText }
}
