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
        return await receiver.replay(letter) { message in
            let routes = message.routes
            let first = routes.first?.delivery ?? standard
            var failure: Outcome.Failure?
            var loopEnd: LoopLayer?
            var succeeded = MatchedRoutes()
            for route in routes {
                switch await run(route, of: message, (route.delivery ?? first).timeout, .beside) {
                case .handled: succeeded.append(route)
                case .looped(let layer): loopEnd = loopEnd ?? layer
                case .failed(let reason): failure = failure ?? reason
                default: break
                }
            }
            if let failure {
                return .failed(
                    Outcome.Failure(
                        place: failure.place, isStage: failure.isStage, error: failure.error, handled: succeeded))
            }
            return loopEnd.map { .looped($0) } ?? .handled(succeeded)
        }
    }
}
