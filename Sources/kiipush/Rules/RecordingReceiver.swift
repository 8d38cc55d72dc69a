import KiiPush
import KiiPushTesting
import Synchronization

/// A receiver with a rules file's own chain and routes, on a virtual clock, whose handlers do no more than take down
/// that they were called.
final class RecordingReceiver: Sendable {
    /// What came of one payload.
    struct Receipt {
        let trace: Trace?
        let outcome: Outcome
        /// The ids of the rules that take the message, whether or not a stage stopped them.
        let rules: [String]
        /// The handlers that were called: a handler's name, or the id of a rule that runs a program or prints.
        let handlers: [String]
    }

    /// Takes down which handlers are called; programs are not run, and nothing is printed.
    private final class Recorder: RuleActions {
        private let called = Mutex<[String]>([])
        private let lastTrace = Mutex<Trace?>(nil)

        func call(_ name: String) { called.withLock { $0.append(name) } }
        func run(_ arguments: [String], for message: PushMessage, _ context: HandlerContext) { call(context.route) }
        func print(_ message: PushMessage, _ context: HandlerContext) { call(context.route) }
        func keep(_ trace: Trace) { lastTrace.withLock { $0 = trace } }

        func takeAll() -> (handlers: [String], trace: Trace?) {
            let handlers = called.withLock { called in
                defer { called = [] }
                return called
            }
            let trace = lastTrace.withLock { trace in
                defer { trace = nil }
                return trace
            }
            return (handlers, trace)
        }
    }

    private let clock = ManualClock()
    private let receiver: PushReceiver
    private let recorder = Recorder()

    /// Makes the receiver.
    ///
    /// - Parameters:
    ///   - rules: the rules.
    ///   - app: the app that is served instead of the file's.
    /// - Throws: `RulesError` when they cannot be loaded.
    init(_ rules: RoutingRules, app: String? = nil) throws(RulesError) {
        receiver = PushReceiver(rules: rules, app: app, clock: clock)
        let recorder = recorder
        for rule in rules.rules {
            guard case .handler(let name) = rule.action else { continue }
            receiver.register(name) { _, _ in recorder.call(name) }
        }
        try receiver.load(rules, actions: recorder)
        receiver.onTrace { recorder.keep($0) }
    }

    /// The stages of its chain, in order.
    var middleware: [String] { receiver.middleware }

    /// Takes a payload in.
    func receive(_ payload: RawPayload) async -> Receipt {
        let outcome = await receiver.receive(payload)
        let (handlers, trace) = recorder.takeAll()
        let rules = trace?.message.map { receiver.matchedRoutes(of: $0).ids } ?? []
        return Receipt(trace: trace, outcome: outcome, rules: rules, handlers: handlers)
    }

    /// Turns the clock to a time since the beginning, and handles what was held until then on the way.
    func advance(to time: Duration) async {
        let end = MonotonicInstant(nanoseconds: 0).advanced(by: time)
        while let due = receiver.loopGuard?.nextDue, due <= end {
            if due > clock.now { clock.advance(by: clock.now.duration(to: due)) }
            if await receiver.handleDue().isEmpty { break }
        }
        if end > clock.now { clock.advance(by: clock.now.duration(to: end)) }
        _ = recorder.takeAll()
    }
}
