import Synchronization

/// What the sender of a command gets back from the device: whether it was done, and data.
///
/// A handler gives it with ``HandlerContext/answer(_:)``, a program with a line `answer {…}`. A `PushService` keeps it
/// in the inbox before the message ends, and an ``AnswerSender`` delivers it.
public struct Answer: Sendable, Hashable {
    /// How a command has ended.
    public enum Status: String, Sendable, Hashable, CaseIterable {
        /// It was done.
        case succeeded
        /// It was not, and is not tried again.
        case failed
        /// It came too late to be done.
        case expired
    }

    /// The most bytes of ``data`` as JSON, and of ``reason``.
    public static let mostBytes = 65_536

    /// How the command has ended.
    public var status: Status
    /// What the sender asked for, as JSON; nil for nothing.
    public var data: DataValue?
    /// Why it was not done, for people; nil if it was.
    public var reason: String?
    /// Of a Thing-IF command, the actions that were not done, each with the reason; the others were.
    public var failedActions: [String: String] = [:]

    /// Makes an answer.
    public init(_ status: Status, data: DataValue? = nil, reason: String? = nil) {
        self.status = status
        self.data = data
        self.reason = reason
    }

    /// The command was done.
    public static func succeeded(_ data: DataValue? = nil) -> Answer { Answer(.succeeded, data: data) }

    /// The command cannot be done, for a reason that a person understands.
    public static func failed(_ reason: String, data: DataValue? = nil) -> Answer {
        Answer(.failed, data: data, reason: reason)
    }
}

/// An answer was not accepted because it has more than ``Answer/mostBytes``, 32 levels or 1,024 members, or a number
/// that is none.
public struct AnswerTooLarge: Error, Sendable, Hashable, CustomStringConvertible {
    /// How many bytes it has.
    public let bytes: Int

    /// What to do, in words.
    public var description: String {
        "an answer has at most \(Answer.mostBytes) bytes, 32 levels and 1,024 members of JSON, and this one of "
            + "\(counted(bytes, "byte")) has more; send a reference to the data instead"
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
        self.id = id
        self.sender = sender
        self.payload = payload
        self.answer = answer
    }
}

/// Delivers answers to those who gave the commands, over a network.
///
/// Guarantees to the service:
/// - ``send(_:)`` returns only when the network has confirmed the answer. If the process ends before that was recorded,
///   the answer is sent again.
/// - It may be called at any time, also while there is no connection; it then waits, or throws and is called again.
public protocol AnswerSender: Sendable {
    /// Its name, under which an inbox keeps its answers; the same in each process.
    var name: String { get }

    /// Whether it can deliver an answer to this message.
    func takes(_ message: PushMessage) -> Bool

    /// Delivers an answer.
    ///
    /// - Throws: ``AnswerRefused`` if it can never be delivered; any other error has it tried again after a pause.
    func send(_ answer: UnsentAnswer) async throws
}

/// An answer that can never be delivered, and why; it is reported and discarded.
public struct AnswerRefused: Error, Sendable, Hashable, CustomStringConvertible {
    /// The reason, without values of the payload.
    public let description: String

    /// Makes one.
    public init(_ reason: String) { description = reason }
}

// MARK: - Giving

/// The answers of a message's routes, while its handlers run; only messages have one whose sender may wait for an
/// answer.
package final class GivenAnswers: Sendable {
    /// The routes for commands that matched the message when it came.
    let routes: [Route]
    private let given: Mutex<(attempt: Int, answers: [String: Answer])>

    /// Begins with the answers that an earlier process has recorded.
    package init(_ routes: MatchedRoutes, _ earlier: [String: Answer] = [:]) {
        self.routes = routes.filter { $0.criteria.command != nil }
        given = Mutex((0, earlier))
    }

    /// The answers by route.
    package var all: [String: Answer] { given.withLock { $0.answers } }

    /// Forgets the answers of routes that are run again: one of a failed attempt does not count.
    func begin(_ attempt: Int, done: [String]) {
        given.withLock { given in
            given = (attempt, given.answers.filter { done.containsExactly($0.key) })
        }
    }

    /// Takes an answer of this attempt; a handler of an earlier one may still run.
    func add(_ answer: Answer, of route: String, _ attempt: Int) {
        given.withLock { if attempt == $0.attempt { $0.answers[route] = answer } }
    }
}

extension Incoming {
    /// What the sender of the message gets: the answer of the first route that has handled it and gave one.
    ///
    /// A command that no handler has answered is answered by its outcome. Nil if nobody waits, or nobody answers.
    package func answer(_ outcome: Outcome) -> Answer? {
        guard let answers = message.answers, let byOutcome = Answer(outcome) else { return nil }
        let (given, handled) = (answers.all, routes(handledBy: outcome))
        let first = handled.lazy.compactMap { given[$0] }.first
        // The rules may have been loaded again since it came, and the chain may have stopped its routes.
        let current = message.routes.filter { $0.criteria.command != nil }
        let takers = current.isEmpty ? answers.routes : current
        guard !takers.isEmpty else { return first }
        var answer = first ?? byOutcome
        guard let command = DirectPushMessage(message.message)?.command else { return answer }
        for action in command.actions {
            let takers = takers.filter { $0.criteria.command?.matches(action.name) == true }
            let reason: String? =
                if takers.isEmpty {
                    "no rule takes this action"
                } else if takers.allSatisfy({ handled.containsExactly($0.id) }) {
                    takers.lazy.compactMap { given[$0.id] }.first { $0.status != .succeeded }?.words
                } else {
                    byOutcome.status == .succeeded ? "its rule did not handle it" : byOutcome.words
                }
            guard let reason else { continue }
            answer.failedActions[action.name] = reason
            if answer.status == .succeeded { (answer.status, answer.reason) = (.failed, reason) }
        }
        // With them it may be more than an inbox can read again.
        if Answer(json: answer.json) == nil { answer.data = nil }
        return answer
    }
}

extension Answer {
    /// The reason of a failure, in words that are never missing.
    package var words: String { reason ?? status.rawValue }

    /// The answer to a command that no handler has answered; nil for an outcome after which another copy is answered,
    /// or another device.
    fileprivate init?(_ outcome: Outcome) {
        switch outcome {
        case .handled: self.init(.succeeded)
        case .expired: self.init(.expired, reason: "it came too late")
        case .deadLettered, .quarantined, .looped:
            self.init(.failed, reason: [outcome.name, outcome.reason].compactMap(\.self).joined(separator: ": "))
        default: return nil
        }
    }
}

// MARK: - JSON

extension Answer {
    /// The JSON object in inboxes: only the members that are set.
    ///
    /// `{"status":"succeeded","data":{…},"reason":"…","failedActions":{"name":"reason"}}`
    package var json: String {
        JSONWriter.object { writer in
            writer.member("status", status.rawValue)
            if let data {
                writer.member("data", value: data)
            }
            if let reason { writer.member("reason", reason) }
            guard !failedActions.isEmpty else { return }
            writer.key("failedActions")
            writer.object { writer in
                for (name, reason) in failedActions.sorted(by: { $0.key < $1.key }) { writer.member(name, reason) }
            }
        }
    }

    /// Reads the text of such an object; nil if it is none.
    package init?(json: String) {
        guard let value = DataValue(json: json), case .string(let name)? = value["status"],
            let status = Status(rawValue: name)
        else { return nil }
        self.init(status, data: value["data"], reason: value["reason"]?.string)
        guard case .object(let members)? = value["failedActions"] else { return }
        for member in members { failedActions[member.key] = member.value.string ?? "" }
    }
}
