// What a service needs of a receiver: a message's way in pieces, since it may wait and take more than one attempt.

extension PushReceiver {
    /// Looks up the routes of a message that was decoded elsewhere, and says in which table.
    package func prepare(_ message: PushMessage) -> (message: RoutedMessage, table: RouteTable) {
        let (table, recorder) = begin()
        return (route(message, nextID(), message.raw.arrivedAt, table, recorder), table)
    }

    /// Counts and reports a payload that could not be decoded elsewhere.
    package func undecodable(_ payload: RawPayload, _ error: DecodeError) -> Outcome {
        end(payload.transport, error, nextID(), begin().recorder)
        return .undecodable(error)
    }

    /// Brings a message that has waited up to date: the routes as they are now, judged by the present.
    ///
    /// - Parameters:
    ///   - message: the message.
    ///   - known: the table that its routes are of, where no stage has judged them yet.
    package func refresh(_ message: inout RoutedMessage, _ known: RouteTable?) {
        let table = currentSetup().table
        guard table !== known else {
            message.admittedAt = clock.now
            return
        }
        message.restart(table.match(message.message.storage), now: clock.now)
        if let known = message.recorder, known.generation != table.generation { message.recorder = begin().recorder }
        message.recorder?.take(message.routes)
    }

    /// The routes that a message has now.
    package func match(_ message: PushMessage) -> MatchedRoutes { currentSetup().table.match(message.storage).routes }

    /// The routes as they are now, and what takes down the trace of one more message while somebody listens.
    func begin() -> (table: RouteTable, recorder: TraceRecorder?) {
        let (table, listener) = currentSetup()
        return (table, listener.map { TraceRecorder(clock, generation: table.generation, $0) })
    }
}
