import Synchronization

/// What happened to one message, layer by layer; for listeners of ``PushReceiver/onTrace(_:)``.
///
/// It contains names, codes, times and the message itself; its text shows no value of the payload.
public struct Trace: Sendable {
    /// One step of the message.
    public struct Stage: Sendable, Hashable {
        /// `decode`, `route`, a middleware's name, or `handle` and the route's id.
        public let name: String
        /// The result of the step, in words.
        public let verdict: String
        /// How long it took.
        public let nanoseconds: Int64
    }

    /// One run of one handler.
    public struct Call: Sendable, Hashable {
        /// The route's id.
        public let route: String
        /// The number of the attempt, 1 for the first; an earlier process may have made earlier ones.
        public var attempt = 1
        /// Whether the handler succeeded.
        public let isHandled: Bool
        /// The time from the message's arrival to this call; pauses before further attempts included.
        public let waitedNanoseconds: Int64
        /// How long the handler took.
        public let nanoseconds: Int64
    }

    /// The message's number in its receiver.
    public let messageID: UInt64
    /// The message, unless it was undecodable.
    public let message: PushMessage?
    /// The transport that delivered it.
    public let transport: Transport?
    /// How it ended.
    public let outcome: Outcome
    /// How many times rules had been loaded when its routes were looked up; see `PushReceiver.load(_:actions:)`.
    public let generation: Int
    /// How long the message took in all.
    public let nanoseconds: Int64
    /// How long the message waited: from its arrival to its first handler, or to its end if none was called.
    public let waitedNanoseconds: Int64
    /// What was recorded; lists and texts are made of it when they are read.
    let record: TraceRecord

    /// The steps, in order.
    public var stages: [Stage] {
        record.steps.map { step in
            Stage(
                name: record.name(of: step), verdict: record.verdict(of: step, message), nanoseconds: step.nanoseconds)
        }
    }
    /// The ids of the routes that matched, in order, whether or not a middleware stopped them later.
    public var routes: [String] { record.matched.ids }
    /// The names of the handlers that were called, in order, including failed ones: the name in a rule, else the
    /// route's id.
    public var handlers: [String] { record.called.map(\.handlerName) }
    /// The runs of its handlers that have ended, in order: one for each attempt.
    public var calls: [Call] { record.calls }
    /// The last error of its handlers, without contents of the payload, as in ``DeadLetter/cause``; nil if none failed
    /// in this process.
    public var cause: String? { record.cause }
    /// The number of the dead letter that it became, or was merged into, perhaps for some of its routes only; nil for
    /// none.
    public var deadLetter: UInt64? { record.deadLetter }
    /// The ids of the routes whose handlers were not called because the message was too old, in order.
    public var expired: [String] { record.expired }

    /// The number of its last attempt; nil if no handler ran.
    package var lastAttempt: Int? { calls.map(\.attempt).max() }

    /// How long its handlers took in all, further attempts included.
    package var handlingNanoseconds: Int64 { calls.reduce(0) { $0 + $1.nanoseconds } }
}

extension Trace: CustomStringConvertible {
    /// The trace, one line for each step.
    public var description: String {
        let kind = message.map { "\($0.kind), \($0.certainty.rawValue)" } ?? "no message"
        let lines = stages.map { "  \($0.name): \($0.verdict) (\($0.nanoseconds) ns)" }
        return (["message \(messageID), \(kind): \(outcome), \(nanoseconds) ns"] + lines).joined(separator: "\n")
    }
}

extension Verdict: CustomStringConvertible {
    var isPass: Bool { if case .pass = self { true } else { false } }

    /// `pass`, or the drop with its reason.
    public var description: String {
        switch self {
        case .pass: "pass"
        case .drop(let reason): "drop: \(Outcome(reason))"
        case .later: "later"
        }
    }
}
