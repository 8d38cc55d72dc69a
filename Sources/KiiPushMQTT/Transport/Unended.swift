import KiiPush
import KiiPushDelivery
import Synchronization

/// Messages of a connection that are in memory and have not ended; no acknowledgement is sent before they have.
final class Unended: Sendable {
    private let state = Mutex((open: 0, retried: 0))

    /// Whether all has ended.
    var isEmpty: Bool { state.withLock { $0.open == 0 } }

    /// How many have ended and must be retried, or were abandoned by the service.
    var retried: Int { state.withLock { $0.retried } }

    /// Waits for the end of one, and calls `onLast` when none is open any more.
    func add(_ receipt: Receipt, onLast: @escaping @Sendable () -> Void) {
        state.withLock { $0.open += 1 }
        receipt.onEnd { [self] outcome in
            let isLast = state.withLock { state in
                state.open -= 1
                switch outcome?.disposition {
                case .accept, .reject: break
                case .retryLater, nil: state.retried += 1
                }
                return state.open == 0
            }
            if isLast { onLast() }
        }
    }
}
