public import KiiCloud
public import KiiPush

/// Performs the `write` and `send` actions of rules in Kii's cloud.
///
/// Implement it to put something between rules and the cloud; otherwise use ``ClientRuleCloud``.
public protocol RuleCloud: Sendable {
    /// Performs an action of a rule for a message, and returns when Kii has accepted it.
    ///
    /// - Parameters:
    ///   - action: the action, with all placeholders filled in.
    ///   - context: the handler's context; it announces and stamps writes.
    /// - Throws: if the action failed; the message then failed.
    func perform(_ action: CloudAction, _ context: HandlerContext) async throws
}

/// Performs actions of rules with a client; writes are announced and stamped, as a handler's own are.
///
/// ```swift
/// try receiver.load(rules, actions: ProgramActions(cloud: ClientRuleCloud(client)))
/// ```
///
/// A write reads the object and replaces the version that it read. It creates a missing object. If all fields already
/// have their values, it sends nothing. If somebody else writes in between, it reads again, at most five times. A
/// message that is retried after a failure therefore writes once. A push has no such protection: if its answer is lost,
/// it may be sent twice.
public struct ClientRuleCloud: RuleCloud {
    /// How often a write reads the object before it fails.
    package static let mostRounds = 5

    private let client: KiiClient

    /// Makes calls with a client, whose token needs the rights for the rules' actions.
    public init(_ client: KiiClient) { self.client = client }

    /// Does an action of a rule.
    ///
    /// - Parameters:
    ///   - action: the action.
    ///   - context: the handler's context.
    /// - Throws: ``CloudActionError``, `LoopRefusal`, `LineageTooLong`, `RefusedMessage`, or what
    ///   `KiiClient.perform` throws.
    public func perform(_ action: CloudAction, _ context: HandlerContext) async throws {
        switch try CloudCall(action, app: client.app.id) {
        case .write(let object, let fields, let replaces):
            try await write(object, fields, replaces: replaces, context)
        case .send(let topic, let sender, let message):
            try await context.send(message, to: topic, as: sender, with: client)
        }
    }

    private func write(
        _ object: KiiObject, _ fields: KeyedData, replaces: Bool, _ context: HandlerContext
    ) async throws {
        for round in 1... {
            do {
                if let record = try await client.refresh(object) {
                    let write: ObjectWrite = replaces ? .replace(fields) : .patch(fields)
                    try await context.write(record, write, with: client)
                } else {
                    try await context.write(object, .create(fields), with: client)
                }
                return
            } catch let error as CloudError where round < Self.mostRounds && error.isOvertaken {
            } catch is UncertainWrite where round < Self.mostRounds {}
        }
    }
}

/// An action as the call of a client.
enum CloudCall {
    case write(KiiObject, KeyedData, replaces: Bool)
    case send(KiiTopic, Sender, OutgoingMessage)

    /// - Throws: ``CloudActionError`` for another app than this one; `MessageBodyError`.
    init(_ action: CloudAction, app: String?) throws {
        func isOfApp(_ uri: KiiURI) -> Bool { uri.appID.map { id in app.map { id.isExactly($0) } ?? true } ?? true }
        switch action {
        case .write(let uri, let fields, let replaces):
            guard let object = uri.object, isOfApp(uri) else { throw CloudActionError.otherApp }
            self = .write(object, fields, replaces: replaces)
        case .send(let uri, let sender, let message):
            guard let topic = uri.topic, isOfApp(uri) else { throw CloudActionError.otherApp }
            self = .send(topic, sender, try OutgoingMessage(body: message.jsonText))
        }
    }

    /// Throws what ``ClientRuleCloud`` throws before it sends anything.
    func check(app: String?, _ context: HandlerContext) throws {
        switch self {
        case .write(let object, _, _): try context.checkWrite(object)
        case .send(let topic, let sender, let message):
            // Any app's id has as many characters.
            try context.checkSend(message, to: topic, as: sender, app: app ?? "00000000")
        }
    }
}

/// A rule asks for an action that its client cannot perform.
@nonexhaustive
public enum CloudActionError: ReportedError, Sendable, Hashable, CustomStringConvertible {
    /// The URI names a different app from the client's.
    case otherApp

    /// What is wrong, and how to fix it.
    public var description: String { "the rule names another app than the account; leave the app out of its URI" }

    /// The same line.
    public var report: String { description }
}

extension CloudError {
    /// Whether somebody else wrote, created or deleted the object between reading and writing.
    fileprivate var isOvertaken: Bool {
        code == .objectVersionIsStale || code == .objectAlreadyExists || code == .objectNotFound
    }
}

package struct RuleWrite: Sendable, Hashable {
    package let object: RuleTarget
    /// The fields that the object gets; values may contain `${…}` placeholders.
    package let fields: RuleValue
    package let replaces: Bool
}

/// A push that a rule sends to a topic.
package struct RuleSend: Sendable, Hashable {
    package let topic: RuleTarget
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
        .send(topic: try topic.filled(message), sender: sender, message: try self.message.filled(message, secrets))
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
