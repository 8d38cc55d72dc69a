/// A message on its way through a receiver: how far the chain let it pass, and which routes are done with it.
package struct Incoming: Sendable {
    /// How a route has ended for the message.
    enum RouteEnd: Sendable, Hashable {
        case handled
        case looped(LoopLayer)
        /// The message was too old when the handler would have started.
        case expired
        case deadLettered

        /// Whether the route never gets the message again.
        var isDone: Bool { self != .expired }
    }

    package var message: RoutedMessage
    /// The table that its routes are from, until the chain has been asked.
    package var table: RouteTable?
    /// How many middlewares admitted it, each of which is called with its outcome; nil while the chain must be asked.
    package var passed: Int?
    /// How often its handlers were run.
    package private(set) var attempts = 0
    /// The longest pause that a server requested in the last attempt, until it is taken.
    private var requestedPause = Duration.zero
    /// The routes that have ended for it, in this order.
    private var ends: [(route: String, end: RouteEnd)] = []
}

extension Incoming {
    /// A message with its routes, of this table if it may wait, and what an earlier process has recorded of it.
    package init(_ message: consuming RoutedMessage, _ table: RouteTable? = nil, attempts: Int = 0, done: [String] = [])
    {
        self.init(message: message, table: table, attempts: attempts, ends: done.map { ($0, .handled) })
    }

    // MARK: Its attempts

    /// Counts an attempt that begins.
    package mutating func begin() {
        attempts += 1
        message.attempt = UInt32(clamping: attempts)
        message.answers?.begin(attempts, done: done)
    }

    /// Takes back an attempt whose handlers could not begin.
    package mutating func takeBack() { attempts -= 1 }

    /// Takes the pause that servers requested in the last attempt.
    package mutating func takeRequestedPause() -> Duration {
        defer { requestedPause = .zero }
        return requestedPause
    }

    /// Records how a route has ended; a route that failed has not.
    mutating func record(_ route: Route, _ outcome: Outcome) {
        switch outcome {
        case .handled: ends.append((route.id, .handled))
        case .looped(let layer): ends.append((route.id, .looped(layer)))
        case .expired: ends.append((route.id, .expired))
        case .failed(let failure):
            requestedPause = max(requestedPause, ErrorReport.requestedPause(failure.error))
        default: break
        }
    }

    /// Records that it was dead-lettered for these routes.
    package mutating func deadLettered(_ routes: [String]) {
        for route in routes where !hasEnded(route) { ends.append((route, .deadLettered)) }
    }

    // MARK: Its routes

    /// The routes that still have to handle it.
    package var remaining: [Route] { message.routes.filter { !hasEnded($0.id) } }

    /// The routes that never get it again, in this process or the next.
    package var done: [String] { ends.filter { $0.end.isDone }.map(\.route) }

    /// The routes that have handled it, given its outcome: the end of an only route is not recorded.
    func routes(handledBy outcome: Outcome) -> [String] {
        message.routes.ids.filter { id in
            if let end = end(of: id) { return end == .handled }
            return if case .handled = outcome { true } else { false }
        }
    }

    /// Whether it was dead-lettered for a route.
    package var isDeadLettered: Bool { ends.contains { $0.end == .deadLettered } }

    /// Its routes that are done with it.
    package var succeeded: MatchedRoutes {
        MatchedRoutes(message.routes.filter { end(of: $0.id)?.isDone == true })
    }

    /// Its routes that have handled it; one that ended a loop runs again when the message comes again.
    var handled: MatchedRoutes { MatchedRoutes(message.routes.filter { end(of: $0.id) == .handled }) }

    /// Its outcome when no route is left that failed.
    var outcome: Outcome {
        for end in ends {
            if case .looped(let layer) = end.end { return .looped(layer) }
        }
        return done.isEmpty ? .expired : .handled(succeeded)
    }

    func hasEnded(_ route: String) -> Bool { end(of: route) != nil }

    /// How a route has ended; no route ends twice.
    func end(of route: String) -> RouteEnd? { ends.first { $0.route.isExactly(route) }?.end }
}
