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
        public var verdict: String {
            switch result {
            case .words(let words): words
            case .decoded(let kind, let certainty, let format):
                "\(kind), \(certainty.rawValue)\(format.map { ", \($0)" } ?? "")"
            }
        }
        /// How long it took.
        public let nanoseconds: Int64
        fileprivate let result: Result

        /// The result of a step; what most messages have becomes words only if somebody reads them.
        enum Result: Sendable, Hashable {
            case words(String)
            case decoded(PushKind, Certainty, format: String?)
        }
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
    public var routes: [String] { matched.ids }
    /// The names of the handlers that were called, in order, including failed ones: the name in a rule, else the
    /// route's id.
    public var handlers: [String] { called.map(\.handlerName) }
    /// The routes that matched, and those whose handlers were called.
    var matched = MatchedRoutes()
    var called = MatchedRoutes()
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

/// Records the steps of one message, while somebody listens; a class, so that other messages carry only a nil.
package final class TraceRecorder: Sendable {
    private struct Record {
        /// When the step under way began; of a handler's call, its attempt and how long the message had waited by then.
        var stageStart: MonotonicInstant
        var attempt = 1
        var waited: Int64 = 0
        /// The same at the first call.
        var firstWaited: Int64?
        var stages: [Trace.Stage] = []
        var matched = MatchedRoutes()
        var called = MatchedRoutes()
        var isCalled = false
        var calls: [Trace.Call] = []
        var cause: String?
        var expired: [String] = []
        var seen: Trace.SeenEffect?

        /// Adds a step, and returns how long it took.
        @discardableResult
        mutating func add(_ name: String, _ result: Trace.Stage.Result, _ now: MonotonicInstant) -> Int64 {
            let nanoseconds = now.nanoseconds.since(stageStart.nanoseconds)
            // For decode, route, four middlewares and a handler.
            if stages.isEmpty { stages.reserveCapacity(7) }
            stages.append(Trace.Stage(name: name, nanoseconds: nanoseconds, result: result))
            return nanoseconds
        }
    }

    private let clock: any ReceiverClock
    let generation: Int
    private let start: MonotonicInstant
    private let record: Mutex<Record>

    init(_ clock: any ReceiverClock, generation: Int) {
        self.clock = clock
        self.generation = generation
        start = clock.now
        record = Mutex(Record(stageStart: start))
    }

    /// Records that a step begins.
    func begin() {
        let now = clock.now
        record.withLock { $0.stageStart = now }
    }

    /// Records the end of a step; another one begins.
    func end(_ name: String, _ result: Trace.Stage.Result) {
        let now = clock.now
        record.withLock { record in
            record.add(name, result, now)
            record.stageStart = now
        }
    }

    /// Records what has happened in a step that goes on.
    func note(_ name: String, _ words: String) {
        let now = clock.now
        record.withLock { _ = $0.add(name, .words(words), now) }
    }

    /// Records the decoded message; its routes are looked up next.
    func decoded(_ message: PushMessage) {
        end("decode", .decoded(message.kind, message.certainty, format: message.format))
    }

    /// Records the routes that matched, and that looking them up has ended.
    func routed(_ routes: MatchedRoutes, at now: MonotonicInstant) {
        // Most messages have one, which need not be put into a list.
        let ids = routes.count == 1 ? routes[0].id : routes.ids.joined(separator: ", ")
        record.withLock { record in
            record.add("route", .words(routes.isEmpty ? "none" : ids), now)
            record.matched = routes
        }
    }

    /// Records the routes that matched.
    func take(_ routes: MatchedRoutes) { record.withLock { $0.matched = routes } }

    /// Records the call of a route's handler.
    func call(_ route: Route, _ message: RoutedMessage) {
        let now = clock.now
        let waited = Self.waited(message.arrivedAt, now)
        record.withLock { record in
            (record.stageStart, record.attempt, record.waited) = (now, Int(message.attempt), waited)
            record.firstWaited = record.firstWaited ?? waited
            record.called.append(route)
            record.isCalled = true
        }
    }

    /// Records that a route's handler has returned, or thrown an error; or that its time was over before it was called.
    func returned(_ route: Route, _ error: (any Error)? = nil) {
        let (now, cause) = (clock.now, error.map(ErrorReport.text))
        record.withLock { record in
            record.cause = cause ?? record.cause
            guard record.isCalled else { return }
            record.isCalled = false
            let nanoseconds = record.add(route.step, .words(cause.map { "threw \($0)" } ?? "handled"), now)
            record.calls.append(
                Trace.Call(
                    route: route.id, attempt: record.attempt, isHandled: cause == nil,
                    waitedNanoseconds: record.waited, nanoseconds: nanoseconds))
        }
    }

    /// Records that a route's handler is not called for a message that has expired, and why.
    func expired(_ route: Route, _ reason: String) {
        begin()
        record.withLock { $0.expired.append(route.id) }
        end(route.step, .words("expired: \(reason)"))
    }

    /// Records what the deduplication store is asked to do.
    func settle(_ effect: Trace.SeenEffect) { record.withLock { $0.seen = effect } }

    /// The trace of a message that has ended with this outcome, or waits.
    func trace(_ message: RoutedMessage, _ outcome: Outcome) -> Trace {
        trace(message.id, message.message, message.message.storage.transport, outcome, message.arrivedAt)
    }

    /// The same, also of a message that could not be decoded.
    func trace(
        _ id: UInt64, _ message: PushMessage?, _ transport: Transport?, _ outcome: Outcome,
        _ arrivedAt: MonotonicInstant? = nil
    ) -> Trace {
        let now = clock.now
        // Made inside of the lock, so that the record is not copied first.
        return record.withLock { record in
            Trace(
                messageID: id, message: message, transport: transport, stages: record.stages, matched: record.matched,
                called: record.called, calls: record.calls, cause: record.cause, expired: record.expired,
                seen: record.seen, outcome: outcome, generation: generation,
                nanoseconds: now.nanoseconds.since(start.nanoseconds),
                waitedNanoseconds: record.firstWaited ?? Self.waited(arrivedAt ?? start, now))
        }
    }

    /// How long a message had waited; an arrival that an earlier process recorded may be of another clock.
    private static func waited(_ arrivedAt: MonotonicInstant, _ now: MonotonicInstant) -> Int64 {
        max(0, now.nanoseconds.since(arrivedAt.nanoseconds))
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
