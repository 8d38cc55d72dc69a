import Synchronization

// Access for the test kit only.

extension PushReceiver {
    /// Receives one payload, and calls `willRun` with the message's number before any middleware or handler sees it.
    ///
    /// An undecodable payload has a number too, but `willRun` is not called for it.
    ///
    /// - Returns: what the sender of a command would get.
    package func receive(_ payload: RawPayload, willRun: (UInt64) -> Void) async -> Answer? {
        guard var message = try? prepare(payload) else { return nil }
        if message.message.storage.isRequest { message.answers = GivenAnswers(message.routes) }
        willRun(message.id)
        var incoming = Incoming(message)
        let outcome = await receive(&incoming)
        return incoming.answer(outcome)
    }

    /// Shares the compiled routes of another receiver: a thousand receivers of one file then need one compilation.
    ///
    /// Both receivers count the results of their handlers in the same counters.
    package func takeRoutes(of other: PushReceiver) {
        let table = other.currentSetup().table
        setup.withLock { setup in
            setup.loaded.generation = table.generation
            setup.replaceRoutes(table.routes, table)
        }
    }
}

extension RoutedMessage {
    /// A message that routes with these ids match, without a receiver.
    package init(_ message: PushMessage, id: UInt64, arrivedAt: MonotonicInstant, app: String?, routeIDs: [String]) {
        var match = RouteMatch()
        match.routes = MatchedRoutes(
            routeIDs.map { id in Route(id: id, criteria: RouteCriteria(), options: .continue, handler: .any { _, _ in })
            })
        self.init(message, id: id, arrivedAt: arrivedAt, app: app, match: match)
    }
}
