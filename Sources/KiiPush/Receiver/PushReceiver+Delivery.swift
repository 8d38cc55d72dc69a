// The steps of receiving as separate methods, for a service: its messages may wait and need several attempts.

import Synchronization

extension PushReceiver {
    /// Looks up the routes of a message that was decoded elsewhere; returns the table, too.
    package func prepare(_ message: PushMessage) -> (message: RoutedMessage, table: RouteTable) {
        let (table, recorder) = begin()
        return (route(message, nextID(), message.raw.arrivedAt, table, recorder), table)
    }

    /// Counts and reports a payload that could not be decoded elsewhere.
    package func undecodable(_ payload: RawPayload, _ error: DecodeError) -> Outcome {
        end(payload.transport, error, nextID(), begin().recorder)
        return .undecodable(error)
    }

    /// Updates a message that has waited, to the current routes and time; `known` is of one that nothing has judged.
    package func refresh(_ message: inout RoutedMessage, _ known: RouteTable?) {
        let table = currentSetup().table
        guard table !== known else {
            message.admittedAt = clock.now
            return
        }
        // It is counted for the routes that it has now.
        let isHeard = message.heard != .no
        if isHeard { chain.loopGuard?.forget(message) }
        message.restart(table.match(message.message.storage), now: clock.now)
        if isHeard {
            message.heard = .no
            chain.loopGuard?.hear(&message, isAgain: true)
        }
        if let known = message.recorder, known.generation != table.generation { message.recorder = begin().recorder }
        message.recorder?.take(message.routes)
    }

    /// Counts and traces that a message waits in its lane.
    package func paced(_ message: RoutedMessage, _ until: MonotonicInstant) {
        for route in message.routes { route.paced.add(1, ordering: .relaxed) }
        if let recorder = message.recorder { tell(recorder.trace(message, .paced(until: until))) }
    }

    /// The routes that match a message now.
    package func match(_ message: PushMessage) -> MatchedRoutes { currentSetup().table.match(message.storage).routes }

    /// The current routes, and a recorder for the trace of one more message if a listener is registered.
    func begin() -> (table: RouteTable, recorder: TraceRecorder?) {
        let (table, isTraced) = currentSetup()
        return (table, isTraced ? TraceRecorder(clock, generation: table.generation) : nil)
    }
}
