/// What the sender of a command gets back from the device: whether it was done, and data.
///
/// A handler gives it with ``HandlerContext/answer(_:)``, a program with a line `answer {…}`. A `PushService` keeps it
/// in the inbox before the message ends, and an ``AnswerSender`` delivers it.
public struct Answer: Sendable, Hashable {
    /// How a command has ended.
    public enum Status: String, Sendable, Hashable {
        /// It was done.
        case succeeded
        /// It was not, and is not tried again.
        case failed
        /// It came too late to be done.
        case expired
    }

    /// The most bytes of an answer as JSON: of its ``data``, its ``reason`` and some thirty more.
    package static let mostBytes = 65_536

    /// How the command has ended.
    public var status: Status
    /// What the sender asked for, as JSON; nil for nothing.
    public var data: DataValue?
    /// Why it was not done, for people; nil if it was.
    public var reason: String?
    private var failedActions: [ExactText: String] = [:]

    /// Makes an answer.
    public init(_ status: Status, data: DataValue? = nil, reason: String? = nil) {
        self.status = status
        self.data = data
        self.reason = reason
    }

    /// Of a Thing-IF command, why the actions of this name were not done; nil if they were.
    public subscript(failureOf action: String) -> String? {
        get { failedActions[ExactText(action)] }
        set { failedActions[ExactText(action)] = newValue }
    }

    package var hasFailedActions: Bool { !failedActions.isEmpty }

    /// The command was done.
    public static func succeeded(_ data: DataValue? = nil) -> Answer { Answer(.succeeded, data: data) }

    /// The command cannot be done, for a reason that a person understands.
    public static func failed(_ reason: String, data: DataValue? = nil) -> Answer {
        Answer(.failed, data: data, reason: reason)
    }
}

/// An answer was not accepted because it has more than 65,536 bytes as JSON, 32 levels or 1,024 members, or a
/// number that is none.
public struct AnswerTooLarge: Error, Sendable, Hashable, CustomStringConvertible {
    /// How many bytes it has.
    public let bytes: Int

    /// What to do, in words.
    public var description: String {
        bytes > Answer.mostBytes
            ? "an answer has at most \(Answer.mostBytes) bytes, and this one has \(bytes); send a reference to the data "
                + "instead"
            : "an answer has at most 32 levels and 1,024 members of JSON, and no number that JSON cannot write"
    }
}

// MARK: - Sending

/// An answer that has to be delivered to whoever gave the command.
public struct UnsentAnswer: Sendable, Hashable {
    /// The number of the command's payload in its inbox; a receiver of two answers with one number knows the second as
    /// a repetition.
    public let id: UInt64
    /// The name of the ``AnswerSender``.
    public let sender: String
    /// The command as received: its bytes, its transport's name, and what an MQTT broker said of it.
    public let payload: RawPayload
    /// The answer.
    public let answer: Answer

    /// Makes one; for inboxes.
    public init(id: UInt64, sender: String, payload: RawPayload, answer: Answer) {
        (self.id, self.sender, self.payload, self.answer) = (id, sender, payload, answer)
    }
}

/// Delivers answers to those who gave the commands, over a network; to test one of yours, run `AnswerSenderContract`
/// from KiiPushContracts.
///
/// Guarantees to the service:
/// - ``send(_:)`` returns only when the network has confirmed the answer. If the process ends before that was recorded,
///   the answer is sent again.
/// - It may be called at any time, also while there is no connection; it then waits, or throws and is called again.
/// - ``send(_:)`` returns soon after its task is cancelled: a service that stops waits for it.
public protocol AnswerSender: Sendable {
    /// Its name, under which an inbox keeps its answers; the same in each process.
    var name: String { get }

    /// Whether it can deliver an answer to this message.
    func takes(_ message: PushMessage) -> Bool

    /// Delivers an answer.
    ///
    /// - Throws: ``AnswerRefused`` if it can never be delivered; any other error has it tried again, after a pause or
    ///   with the next answer.
    func send(_ answer: UnsentAnswer) async throws
}

/// An answer that can never be delivered, and why; it is reported and discarded.
public struct AnswerRefused: Error, Sendable, Hashable, CustomStringConvertible {
    /// The reason, without values of the payload.
    public let description: String

    /// Makes one.
    public init(_ reason: String) { description = reason }
}

extension Answer {
    package var words: String { reason ?? status.rawValue }

    /// The whole answer as a JSON object, for inboxes: only the members that are set.
    ///
    /// `{"status":"succeeded","data":{…},"reason":"…","failedActions":{"name":"reason"}}`
    public var jsonText: String {
        JSONWriter.object { writer in
            writer.member("status", status.rawValue)
            if let data { writer.member("data", value: data) }
            if let reason { writer.member("reason", reason) }
            guard !failedActions.isEmpty else { return }
            writer.member("failedActions") { writer in
                let sorted = failedActions.sorted { $0.key.text.utf8.lexicographicallyPrecedes($1.key.text.utf8) }
                for (name, reason) in sorted { writer.member(name.text, reason) }
            }
        }
    }

    /// Reads what ``jsonText`` has written; nil if it is something else.
    public init?(json: String) {
        guard let value = DataValue(json: json), case .string(let name)? = value["status"],
            let status = Status(rawValue: name)
        else { return nil }
        self.init(status, data: value["data"], reason: value["reason"]?.string)
        guard case .object(let members)? = value["failedActions"] else { return }
        for (name, reason) in members { self[failureOf: name] = reason.string ?? "" }
    }
}
