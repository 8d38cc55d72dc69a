import KiiPushTesting
import Synchronization

@testable import KiiPush

/// What happened, in order, taken down from any thread.
final class EventLog: Sendable {
    private let list = Mutex<[String]>([])

    var events: [String] { list.withLock { $0 } }

    func add(_ event: String) { list.withLock { $0.append(event) } }
}

/// A middleware that takes down what is asked of it, and answers as it was told.
struct Probe: Middleware {
    let name: String
    let log: EventLog
    var answer: @Sendable () throws -> Verdict = { .pass }

    init(_ name: String, _ log: EventLog, answer: @escaping @Sendable () throws -> Verdict = { .pass }) {
        self.name = name
        self.log = log
        self.answer = answer
    }

    func admit(_ message: inout RoutedMessage) throws -> Verdict {
        log.add("admit \(name)")
        return try answer()
    }

    func settle(_ message: RoutedMessage, _ outcome: Outcome) { log.add("settle \(name): \(outcome)") }
}

/// An error that a test throws.
struct TestError: Error, Equatable {}

extension RoutedMessage {
    /// A message on its way through a chain, without a receiver.
    init(
        _ payload: RawPayload, id: UInt64 = 1, at seconds: Int64 = 0, app: String? = nil, routes: [Route] = []
    ) throws {
        self.init(
            try PushMessage(payload), id: id, arrivedAt: payload.arrivedAt ?? .seconds(seconds), app: app,
            match: RouteMatch(MatchedRoutes(routes)))
    }
}

extension Route {
    /// A route that takes what a test says it takes.
    convenience init(
        _ id: String, flow: RouteFlow = .stop, criteria: RouteCriteria = RouteCriteria()
    ) {
        self.init(id: id, criteria: criteria, options: RouteOptions(then: flow), handler: .any { _, _ in })
    }
}

/// Builds a chain as a receiver does.
func makeChain(@MiddlewareBuilder _ middleware: () -> [any Middleware]) -> CompiledChain {
    CompiledChain(middleware(), clock: SystemClock())
}
