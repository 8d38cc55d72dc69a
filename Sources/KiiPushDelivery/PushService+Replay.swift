// Replays dead letters.

public import KiiPush

extension PushService {
    /// Handles a dead letter once more, and removes it from the store if it is handled.
    ///
    /// Like `PushReceiver.replay(_:)`, but handlers have their usual timeout: a late one is cancelled, and left behind
    /// if it does not return. It is tried once. Call it while the service runs; a stopping service waits for the replay
    /// as for any handler, and begins no other one.
    ///
    /// - Parameter letter: a dead letter of the receiver's store.
    /// - Returns: its outcome; after any but `handled`, the dead letter stays in the store.
    ///   It stays, too, if others were merged into it meanwhile.
    @discardableResult
    public func replay(_ letter: DeadLetter) async -> Outcome {
        let standard = change { state in
            state.ending += 1
            return state.delivery
        }
        defer { change { $0.ending -= 1 } }
        return await receiver.replay(letter) { route, message in
            let settings = route.options.delivery ?? message.routes.first?.options.delivery ?? standard
            return await self.run(route, of: message, settings.timeout, nil)
        }
    }
}
