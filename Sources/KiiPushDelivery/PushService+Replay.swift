// Dead letters that somebody hands to their handlers again.

public import KiiPush

extension PushService {
    /// Handles a dead letter once more, and takes it out of the store when it is handled.
    ///
    /// As `PushReceiver.replay(_:)`, but a handler may take no longer than for any other message: it is cancelled then,
    /// and left when it does not return. It is tried once. Call it while the service runs; when that stops it waits for
    /// the replay as for any handler, and begins no other one.
    ///
    /// - Parameter letter: a letter of the receiver's store.
    /// - Returns: its outcome; of any but `handled` the letter stays in the store.
    @discardableResult
    public func replay(_ letter: DeadLetter) async -> Outcome {
        let standard = change { state in
            state.ending += 1
            return state.delivery
        }
        defer { change { $0.ending -= 1 } }
        return await receiver.replay(letter) { route, message in
            let settings = route.delivery ?? message.routes.first?.delivery ?? standard
            return await self.run(route, of: message, settings.timeout, .beside)
        }
    }
}
