// What a service needs of a receiver: a message's way in pieces, since it may wait and take more than one attempt.

extension PushReceiver {
    /// Looks up the routes of a message that was decoded elsewhere.
    package func prepare(_ message: PushMessage) -> RoutedMessage {
        let (table, listener) = currentSetup()
        let recorder = listener.map { TraceRecorder(clock, generation: table.generation, $0) }
        return route(message, nextID(), message.raw.arrivedAt, table, recorder)
    }

    /// Counts and reports a payload that could not be decoded elsewhere.
    package func undecodable(_ payload: RawPayload, _ error: DecodeError) -> Outcome {
        let (table, listener) = currentSetup()
        end(payload.transport, error, nextID(), listener.map { TraceRecorder(clock, generation: table.generation, $0) })
        return .undecodable(error)
    }

    /// Brings a message that has waited up to date: the routes as they are now, judged by the present.
    package func refresh(_ message: inout RoutedMessage) {
        let (table, listener) = currentSetup()
        message.restart(table.match(message.message.storage), now: clock.now)
        if let recorder = message.recorder, recorder.generation != table.generation {
            message.recorder = listener.map { TraceRecorder(clock, generation: table.generation, $0) }
        }
        message.recorder?.take(message.routes)
    }

    /// The routes that a message has now.
    package func match(_ message: PushMessage) -> MatchedRoutes { currentSetup().table.match(message.storage).routes }
}
