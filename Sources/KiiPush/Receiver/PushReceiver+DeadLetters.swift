import Synchronization

// Dead letters: dead-lettering a message, and handling it again.

extension PushReceiver {
    /// Dead-letters a message; the outcome is `failed` if the store has no capacity or throws.
    package func deadLetter(
        _ message: RoutedMessage, _ reason: DeadLetter.Reason, _ routes: [String], attempts: Int = 0,
        cause: String? = nil, inboxID: UInt64? = nil
    ) -> Outcome {
        var letter = DeadLetter(
            payload: message.message.raw, reason: reason, routes: routes, arrivedAt: message.arrivedAt)
        (letter.attempts, letter.cause, letter.inboxID) = (attempts, cause, inboxID)
        letter.keys = DeadLetter.keys(message.message, reason, routes.first)
        do {
            let number = try store(letter)
            message.recorder?.deadLettered(number)
            return .deadLettered(reason)
        } catch { return .failure(of: "deadLetters", isMiddleware: true, error) }
    }

    /// How many dead letters took the place of an older one's payload since the last call.
    package func takeMergedLetters() -> Int { merged.exchange(0, ordering: .relaxed) }

    /// Adds a dead letter to the store, and notifies the listeners; returns its number.
    package func store(_ letter: DeadLetter) throws -> UInt64 {
        var letter = letter
        letter.rulesGeneration = rulesGeneration
        let before = (try? deadLetters.count) ?? 0
        letter.id = try deadLetters.add(letter)
        // Too often if another one is removed meanwhile, never too rarely.
        let counts = letter.reason != .undecodable && letter.payload.transport?.format != .gap
        if counts, let count = try? deadLetters.count, count <= before { merged.add(1, ordering: .relaxed) }
        deadLetterListeners.call(letter)
        return letter.id
    }

    /// Handles a dead letter again, and removes it from the store when it is handled.
    ///
    /// It passes the whole chain, but neither the deduplicator nor its pace nor its age stops it. Only the routes that
    /// did not handle it are called, if they still match. If its payload could not be decoded before and can be now,
    /// all matching routes are called. The handlers have no time limit; see `PushService.replay(_:)`.
    ///
    /// - Returns: its outcome; the dead letter stays in the store unless it is `handled` and none was merged meanwhile.
    @discardableResult
    public func replay(_ letter: DeadLetter) async -> Outcome { await replay(letter, call: nil) }

    /// The same, with a function that calls the handlers; nil calls them without a time limit.
    package func replay(_ letter: DeadLetter, call: ((Route, RoutedMessage) async -> Outcome)?) async -> Outcome {
        var message: RoutedMessage
        do { message = try prepare(letter.payload) } catch { return .undecodable(error) }
        // The routes of an undecodable payload are not known until a replay.
        if letter.reason != .undecodable || !letter.routes.isEmpty {
            message.routes = MatchedRoutes(
                message.routes.filter { route in letter.routes.contains { $0.isExactly(route.id) } })
        }
        let routes = letter.routes.isEmpty ? message.routes.ids : letter.routes
        message.bypass = .all
        var incoming = Incoming(message, attempts: letter.attempts)
        let outcome = await receive(&incoming, call: call)
        // A dead letter that cannot be removed or changed may be replayed again, which at-least-once allows.
        switch outcome {
        case .handled: _ = try? deadLetters.remove(letter)
        case .failed(let failure) where !failure.handled.isEmpty:
            try? deadLetters.setRoutes(routes.filter { !failure.handled.ids.containsExactly($0) }, of: letter)
        default: break
        }
        return outcome
    }
}
