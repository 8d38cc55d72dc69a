// The steps of receiving as separate methods, for a service: its messages may wait and need several attempts.

import Synchronization

extension PushReceiver {
    /// Looks up the routes of a message that was decoded elsewhere; returns the table, too.
    package func prepare(_ message: PushMessage) -> (message: RoutedMessage, table: RouteTable) {
        let (table, recorder) = begin()
        return (route(message, nextID(), message.raw.arrivedAt, table, recorder), table)
    }

    /// Counts and reports a payload that could not be decoded elsewhere, and the number of its dead letter.
    package func undecodable(_ payload: RawPayload, _ error: DecodeError, deadLetter: UInt64? = nil) {
        let recorder = begin().recorder
        if let deadLetter { recorder?.deadLettered(deadLetter) }
        end(payload.transport, error, nextID(), recorder)
    }

    /// Updates a message that has waited, to the current routes and time; `known` is of one that nothing has judged.
    package func refresh(_ message: inout RoutedMessage, _ known: RouteTable?) {
        let (table, now) = (table, clock.now)
        defer { message.recorder?.take(message.routes, at: now) }
        guard table !== known else {
            message.admittedAt = now
            return
        }
        // It is counted for the routes that it has now.
        let isHeard = message.heard != .no
        if isHeard { chain.loopGuard?.forget(message) }
        message.restart(table.match(message.message.storage), now: now)
        if isHeard {
            message.heard = .no
            chain.loopGuard?.hear(&message, isAgain: true)
        }
        if let known = message.recorder, known.generation != table.generation { message.recorder = begin().recorder }
    }

    /// Counts and traces that a message waits in its lane.
    package func paced(_ message: RoutedMessage, _ until: MonotonicInstant) {
        for route in message.routes { route.paced.add(1, ordering: .relaxed) }
        if let recorder = message.recorder { tell(recorder.trace(message, .paced(until: until))) }
    }

    /// The routes that match a message now.
    package func match(_ message: PushMessage) -> MatchedRoutes { table.match(message.storage).routes }

    /// The current routes, and a recorder for the trace of one more message if a listener is registered.
    func begin() -> (table: RouteTable, recorder: TraceRecorder?) {
        let table = table
        guard !traceListeners.isEmpty else { return (table, nil) }
        return (table, TraceRecorder(clock, middleware: chain.names, generation: table.generation))
    }

    // MARK: For the test kit

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
        let table = other.table
        setup.withLock { setup in
            setup.loaded.generation = table.generation
            setup.replaceRoutes(table.routes, table)
        }
    }
}
