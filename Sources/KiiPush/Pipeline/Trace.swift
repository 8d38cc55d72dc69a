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

    /// What the deduplication store does when a message ends.
    @nonexhaustive
    public enum SeenEffect: String, Sendable, Hashable, CaseIterable {
        /// It remembers the message: the same message is a duplicate from now on.
        case commit
        /// It forgets the message: the same message is handled when it arrives again.
        case release
    }

    /// The message's number in its receiver.
    public let messageID: UInt64
    /// The message, unless it was undecodable.
    public let message: PushMessage?
    /// The transport that delivered it.
    public let transport: Transport?
    /// The steps, in order.
    public let stages: [Stage]
    /// The ids of the routes that matched, in order, whether or not a middleware stopped them later.
    public let routes: [String]
    /// The names of the handlers that were called, in order, including failed ones: the name in a rule, else the
    /// route's id.
    public let handlers: [String]
    /// The runs of its handlers that have ended, in order: one for each attempt.
    public internal(set) var calls: [Call] = []
    /// The last error of its handlers, without contents of the payload, as in ``DeadLetter/cause``; nil if none failed
    /// in this process.
    public internal(set) var cause: String? = nil
    /// The ids of the routes whose handlers were not called because the message was too old, in order.
    public let expired: [String]
    /// What the deduplication store was asked to do; nil if it had reserved nothing.
    public let seen: SeenEffect?
    /// How it ended.
    public let outcome: Outcome
    /// How many times rules had been loaded when its routes were looked up; see `PushReceiver.load(_:actions:)`.
    public let generation: Int
    /// How long the message took in all.
    public let nanoseconds: Int64
    /// How long the message waited: from its arrival to its first handler, or to its end if none was called.
    public internal(set) var waitedNanoseconds: Int64 = 0

    /// The number of its last attempt; nil if no handler ran.
    package var lastAttempt: Int? { calls.map(\.attempt).max() }

    /// How long its handlers took in all, further attempts included.
    public var handlingNanoseconds: Int64 { calls.reduce(0) { $0 + $1.nanoseconds } }
}

extension Trace: CustomStringConvertible {
    /// The trace, one line for each step.
    public var description: String {
        let kind = message.map { "\($0.kind), \($0.certainty.rawValue)" } ?? "no message"
        let lines = stages.map { "  \($0.name): \($0.verdict) (\($0.nanoseconds) ns)" }
        return (["message \(messageID), \(kind): \(outcome), \(nanoseconds) ns"] + lines).joined(separator: "\n")
    }
}

/// Records the steps of one message, while somebody listens.
///
/// A class, so that a message that is not traced carries only a nil.
package final class TraceRecorder: Sendable {
    private struct Record {
        /// When the step under way began; of a handler's call, its attempt and how long the message had waited by then.
        var stageStart: MonotonicInstant
        var attempt = 1
        var waited: Int64 = 0
        /// The same at the first call.
        var firstWaited: Int64?
        var stages: [Trace.Stage] = []
        var routes: [String] = []
        var handlers: [String] = []
        var calls: [Trace.Call] = []
        var cause: String?
        var expired: [String] = []
        var seen: Trace.SeenEffect?
    }

    private let clock: any ReceiverClock
    let generation: Int
    private let listener: @Sendable (Trace) -> Void
    private let start: MonotonicInstant
    private let record: Mutex<Record>

    init(_ clock: any ReceiverClock, generation: Int, _ listener: @escaping @Sendable (Trace) -> Void) {
        self.clock = clock
        self.generation = generation
        self.listener = listener
        start = clock.now
        record = Mutex(Record(stageStart: start))
    }

    /// Records that a step begins.
    func begin() {
        let now = clock.now
        record.withLock { $0.stageStart = now }
    }

    /// Records the end of a step.
    func end(_ name: String, _ verdict: String) {
        let now = clock.now
        record.withLock { record in
            let nanoseconds = record.stageStart.duration(to: now).inNanoseconds
            record.stages.append(Trace.Stage(name: name, verdict: verdict, nanoseconds: nanoseconds))
        }
    }

    // Usually the type only: an error's own text may contain values of the payload.
    func end(_ name: String, failed error: any Error) { end(name, "threw \(ErrorReport.text(error))") }

    /// Records the decoded message; its routes are looked up next.
    func decoded(_ message: PushMessage) {
        let format = message.format.map { ", \($0)" } ?? ""
        end("decode", "\(message.kind), \(message.certainty.rawValue)\(format)")
        begin()
    }

    /// Records the routes that matched, and that looking them up has ended.
    func routed(_ routes: MatchedRoutes) {
        end("route", routes.isEmpty ? "none" : routes.ids.joined(separator: ", "))
        take(routes)
    }

    /// Records the routes that matched.
    func take(_ routes: MatchedRoutes) { record.withLock { $0.routes = routes.ids } }

    /// Records the call of a route's handler.
    func call(_ route: Route, _ message: RoutedMessage) {
        let now = clock.now
        let waited = Self.waited(message.arrivedAt, now)
        record.withLock { record in
            (record.stageStart, record.attempt, record.waited) = (now, Int(message.attempt), waited)
            record.firstWaited = record.firstWaited ?? waited
            record.handlers.append(route.handlerName)
        }
    }

    /// Records that a route's handler has returned, or thrown an error.
    func returned(_ route: Route, _ error: (any Error)? = nil) {
        if let error { end("handle \(route.id)", failed: error) } else { end("handle \(route.id)", "handled") }
        let cause = error.map(ErrorReport.text)
        record.withLock { record in
            record.cause = cause ?? record.cause
            record.calls.append(
                Trace.Call(
                    route: route.id, attempt: record.attempt, isHandled: cause == nil,
                    waitedNanoseconds: record.waited, nanoseconds: record.stages.last?.nanoseconds ?? 0))
        }
    }

    /// Records that a route's handler is not called for a message that has expired, and why.
    func expired(_ route: Route, _ reason: String) {
        begin()
        record.withLock { $0.expired.append(route.id) }
        end("handle \(route.id)", "expired: \(reason)")
    }

    /// Records what the deduplication store is asked to do.
    func settle(_ effect: Trace.SeenEffect) { record.withLock { $0.seen = effect } }

    /// Calls the listener with the record of a message and its outcome.
    package func finish(_ message: RoutedMessage, _ outcome: Outcome) {
        finish(message.id, message.message, message.message.storage.transport, outcome, message.arrivedAt)
    }

    /// Calls the listener with the record.
    func finish(
        _ id: UInt64, _ message: PushMessage?, _ transport: Transport?, _ outcome: Outcome,
        _ arrivedAt: MonotonicInstant? = nil
    ) {
        let (record, now) = (record.withLock { $0 }, clock.now)
        listener(
            Trace(
                messageID: id, message: message, transport: transport, stages: record.stages, routes: record.routes,
                handlers: record.handlers, calls: record.calls, cause: record.cause, expired: record.expired,
                seen: record.seen, outcome: outcome, generation: generation,
                nanoseconds: start.duration(to: now).inNanoseconds,
                waitedNanoseconds: record.firstWaited ?? Self.waited(arrivedAt ?? start, now)))
    }

    /// How long a message had waited; an arrival that an earlier process recorded may be of another clock.
    private static func waited(_ arrivedAt: MonotonicInstant, _ now: MonotonicInstant) -> Int64 {
        max(0, arrivedAt.duration(to: now).inNanoseconds)
    }
}

extension Verdict: CustomStringConvertible {
    /// `pass`, or the drop with its reason.
    public var description: String {
        switch self {
        case .pass: "pass"
        case .drop(let reason): "drop: \(Outcome(reason))"
        case .later: "later"
        }
    }
}
