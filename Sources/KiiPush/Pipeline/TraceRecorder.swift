import Synchronization

/// What is recorded of one message: nearly only numbers, so that recording and forgetting a step costs little.
struct TraceRecord: Sendable {
    struct Step: Sendable {
        let place: Place
        let nanoseconds: Int64
        /// The place of its verdict in `words`; nil if it is that of most messages.
        let words: Int?
    }

    enum Place: Sendable {
        case decode
        case route
        /// By the middleware's position in the chain.
        case middleware(Int)
        /// By the route's position in `called`, with the number of the attempt, and how long the message had waited.
        case call(UInt32, attempt: UInt32, waited: Int64)
        /// By the position of the route's id in `words`.
        case expired(Int)
        /// What a handler declares.
        case write
    }

    /// The names of the chain's middlewares.
    let middleware: [String]
    fileprivate(set) var steps: [Step] = []
    fileprivate var words: [String] = []
    fileprivate(set) var matched = MatchedRoutes()
    /// The routes whose handlers were called.
    fileprivate(set) var called = MatchedRoutes()
    fileprivate(set) var cause: String?
    fileprivate(set) var deadLetter: UInt64?

    init(middleware: [String] = []) { self.middleware = middleware }

    fileprivate mutating func add(_ place: Place, _ verdict: String?, _ nanoseconds: Int64) {
        // For decode, route, four middlewares and a handler.
        if steps.isEmpty { steps.reserveCapacity(7) }
        steps.append(Step(place: place, nanoseconds: nanoseconds, words: verdict == nil ? nil : words.count))
        if let verdict { words.append(verdict) }
    }

    // MARK: Read

    func name(of step: Step) -> String {
        switch step.place {
        case .decode: "decode"
        case .route: "route"
        case .middleware(let number): middleware[number]
        case .call(let number, _, _): "handle \(called[Int(number)].id)"
        case .expired(let number): "handle \(words[number])"
        case .write: "write"
        }
    }

    func verdict(of step: Step, _ message: PushMessage?) -> String {
        if let number = step.words { return words[number] }
        switch step.place {
        case .decode:
            return message.map { "\($0.kind), \($0.certainty.rawValue)\($0.format.map { ", \($0)" } ?? "")" } ?? ""
        case .route: return matched.isEmpty ? "none" : matched.ids.joined(separator: ", ")
        case .middleware: return "\(Verdict.pass)"
        case .call: return "handled"
        case .expired, .write: return ""
        }
    }

    /// The ids of the routes for which the message was too old.
    var expired: [String] {
        steps.compactMap { if case .expired(let number) = $0.place { words[number] } else { nil } }
    }

    /// The calls of handlers that have ended.
    var calls: [Trace.Call] {
        steps.compactMap { step in
            guard case .call(let number, let attempt, let waited) = step.place else { return nil }
            return Trace.Call(
                route: called[Int(number)].id, attempt: Int(attempt), isHandled: step.words == nil,
                waitedNanoseconds: waited, nanoseconds: step.nanoseconds)
        }
    }
}

/// Records the steps of one message, while somebody listens; a class, so that other messages carry only a nil.
package final class TraceRecorder: Sendable {
    private struct State {
        var record: TraceRecord
        /// When the step under way began.
        var stageStart: MonotonicInstant
        /// The handler's call under way.
        var call: TraceRecord.Place?
        /// How long it had waited by the first call.
        var firstWaited: Int64?

        /// Adds a step that ends now; another one begins.
        mutating func end(_ place: TraceRecord.Place, _ words: String?, _ now: MonotonicInstant) {
            record.add(place, words, now.nanoseconds.since(stageStart.nanoseconds))
            stageStart = now
        }

        mutating func takeRecord() -> TraceRecord {
            var taken = TraceRecord()
            swap(&taken, &record)
            return taken
        }
    }

    private let clock: any ReceiverClock
    let generation: Int
    private let start: MonotonicInstant
    private let state: Mutex<State>

    init(_ clock: any ReceiverClock, middleware: [String], generation: Int) {
        self.clock = clock
        self.generation = generation
        start = clock.now
        state = Mutex(State(record: TraceRecord(middleware: middleware), stageStart: start))
    }

    var now: MonotonicInstant { clock.now }

    /// Records the end of a step, in words if it did not end as most do; another one begins.
    func end(_ place: TraceRecord.Place, _ words: String? = nil) {
        let now = clock.now
        state.withLock { $0.end(place, words, now) }
    }

    /// Records what a handler declares, in a step that goes on.
    func note(_ words: String) {
        let now = clock.now
        state.withLock { $0.record.add(.write, words, now.nanoseconds.since($0.stageStart.nanoseconds)) }
    }

    /// Records when a message was decoded, and the routes that were then found.
    func routed(_ routes: MatchedRoutes, decodedAt: MonotonicInstant, at now: MonotonicInstant) {
        state.withLock { state in
            state.end(.decode, nil, decodedAt)
            state.end(.route, nil, now)
            state.record.matched = routes
        }
    }

    /// Records the routes that match a message which has waited, before the chain is asked.
    func take(_ routes: MatchedRoutes, at now: MonotonicInstant) {
        state.withLock { ($0.record.matched, $0.stageStart) = (routes, now) }
    }

    /// Records the call of a route's handler.
    func call(_ route: Route, _ message: RoutedMessage) {
        let now = clock.now
        let waited = now.nanoseconds.since(message.arrivedAt.nanoseconds)
        state.withLock { state in
            let number = UInt32(state.record.called.count)
            (state.stageStart, state.call) = (now, .call(number, attempt: message.attempt, waited: waited))
            state.record.called.append(route)
            state.firstWaited = state.firstWaited ?? waited
        }
    }

    /// Records that a route's handler has returned, or thrown an error; or that its time was over before it was called.
    func returned(_ error: (any Error)? = nil) {
        let (now, cause) = (clock.now, error.map(ErrorReport.text))
        state.withLock { state in
            if let cause { state.record.cause = cause }
            if let call = state.call.take() { state.end(call, cause.map { "threw \($0)" }, now) }
        }
    }

    /// Records that a route's handler is not called for a message that has expired, and why.
    func expired(_ route: Route, _ reason: String) {
        let now = clock.now
        state.withLock { state in
            state.stageStart = now
            state.record.words.append(route.id)
            state.end(.expired(state.record.words.count - 1), "expired: \(reason)", now)
        }
    }

    /// Records the number of the dead letter that the message has become.
    func deadLettered(_ number: UInt64) { state.withLock { $0.record.deadLetter = number } }

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
        return state.withLock { state in
            // Copied only for a message that waits, of which more is recorded.
            let record = outcome.isPaced ? state.record : state.takeRecord()
            return Trace(
                messageID: id, message: message, transport: transport, outcome: outcome, generation: generation,
                nanoseconds: now.nanoseconds.since(start.nanoseconds),
                waitedNanoseconds: state.firstWaited ?? now.nanoseconds.since((arrivedAt ?? start).nanoseconds),
                record: record)
        }
    }
}
