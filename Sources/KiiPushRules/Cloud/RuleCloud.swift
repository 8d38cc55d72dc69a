public import KiiCloud
public import KiiPush

/// Does what rules ask of Kii's cloud with `write` and `send`.
///
/// Implement it to put something between rules and the cloud; otherwise take a ``ClientRuleCloud``.
public protocol RuleCloud: Sendable {
    /// Does an action of a rule for a message, and returns when Kii has taken it.
    ///
    /// - Parameters:
    ///   - action: the action, with all values filled in.
    ///   - context: what handlers are told; it announces and stamps.
    /// - Throws: when it was not done; the message then failed.
    func perform(_ action: CloudAction, _ context: HandlerContext) async throws
}

/// Does what rules ask of Kii's cloud over a client: announced and stamped, as a handler's own writes are.
///
/// ```swift
/// try receiver.load(rules, actions: ProgramActions(cloud: ClientRuleCloud(client)))
/// ```
///
/// A write reads the object, and is made to the version that it has read. It creates an object that is not there. If
/// all fields have their values already, nothing is sent. Where somebody else writes meanwhile, it reads again, at most
/// ``mostRounds`` times. A message that is handled again after a failure therefore writes once. A push has no such
/// guard: if its answer is lost, it may be sent twice.
public struct ClientRuleCloud: RuleCloud {
    /// How often a write reads the object before it fails.
    public static let mostRounds = 5

    private let client: KiiClient

    /// Calls over a client, whose token needs the rights for what the rules do.
    public init(_ client: KiiClient) { self.client = client }

    /// Does an action of a rule.
    ///
    /// - Parameters:
    ///   - action: the action.
    ///   - context: what handlers are told.
    /// - Throws: ``CloudActionError``, `LoopRefusal`, `LineageTooLong`, `RefusedMessage`, or what
    ///   `KiiClient.perform` throws.
    public func perform(_ action: CloudAction, _ context: HandlerContext) async throws {
        switch action {
        case .write(let uri, let fields, let replaces):
            guard let object = uri.object, isOfApp(uri) else { throw CloudActionError.otherApp }
            try await write(object, fields, replaces: replaces, context)
        case .send(let uri, let sender, let message):
            guard let topic = uri.topic, isOfApp(uri) else { throw CloudActionError.otherApp }
            var writer = JSONWriter()
            writer.value(message)
            let outgoing = try OutgoingMessage(body: writer.text)
            try await context.send(outgoing, to: topic, as: sender, with: client)
        }
    }

    private func isOfApp(_ uri: KiiURI) -> Bool { uri.appID.map { $0.isExactly(client.app.id) } ?? true }

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

/// A rule asks for something that its client cannot do.
public enum CloudActionError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The URI names another app than the client's.
    case otherApp

    /// What is wrong, and what to do.
    public var description: String { "the rule names another app than the account; leave the app out of its URI" }
}

extension CloudError {
    /// Whether somebody else wrote, created or deleted the object between reading and writing.
    fileprivate var isOvertaken: Bool {
        code == .objectVersionIsStale || code == .objectAlreadyExists || code == .objectNotFound
    }
}
