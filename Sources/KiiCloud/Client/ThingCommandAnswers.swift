public import KiiPush

/// Answers Thing-IF commands: reports the results of their actions to Kii, as the thing that received them.
///
/// Give it to a `PushService`, or to `AgentSettings.answers` of an agent. An action is reported as succeeded, unless
/// its handler answered otherwise, failed for good, or there is none.
public struct ThingCommandAnswers: AnswerSender {
    /// Its name in logs and inboxes: `thing-if`.
    public let name = "thing-if"
    private let client: KiiClient
    private let thing: KiiThing

    /// Answers as a thing, whose token the client has.
    public init(_ client: KiiClient, thing: KiiThing) {
        self.client = client
        self.thing = thing
    }

    /// Whether the message is a Thing-IF command.
    public func takes(_ message: PushMessage) -> Bool { message.storage.isCommand }

    /// Reports the results of a command's actions.
    ///
    /// - Throws: `AnswerRefused` if Kii refuses them, as for a command that is over, or if another server answers; else
    ///   what ``KiiClient/perform(_:)`` throws, and the service tries again.
    public func send(_ answer: UnsentAnswer) async throws {
        // The receiver may have accepted more than the standard limits.
        let bytes = answer.payload.bytes.count
        let message = try? PushMessage(answer.payload, limits: PayloadLimits(bytes: bytes, depth: 64, members: bytes))
        guard let command = message.flatMap({ DirectPushMessage($0) })?.command else {
            throw AnswerRefused("the payload is no Thing-IF command")
        }
        // No path has such a segment, so no retry could send the answer.
        guard ![".", ".."].containsExactly(command.id) else { throw AnswerRefused("the command's id is '.' or '..'") }
        do {
            try await client.perform(.report(answer.answer.results(of: command), of: command, as: thing))
        } catch let error as CloudError where error.isFinal {
            throw AnswerRefused("\(error)")
        }
    }
}

extension Answer {
    fileprivate func results(of command: ThingCommand) -> [ActionResult] {
        command.actions.map { action in
            let reason = !hasFailedActions && status != .succeeded ? words : self[failureOf: action.name]
            return reason.map { .failed(action, $0) } ?? .done(action)
        }
    }
}

extension CloudError {
    /// Whether the same call can never succeed: not if a token, a right, the load or a proxy is the reason.
    fileprivate var isFinal: Bool {
        // A success that is an error is that of another server.
        (200..<300).contains(status)
            || (400..<500).contains(status) && ![401, 403, 408, 425, 429].contains(status)
    }
}
