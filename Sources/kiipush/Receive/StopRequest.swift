import Synchronization

/// Whether an agent was asked to stop; that may be before it runs.
final class StopRequest: Sendable {
    private struct State {
        var isMade = false
        var action: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// Asks it to stop.
    func make() {
        let action = state.withLock { state in
            state.isMade = true
            return state.action
        }
        action?()
    }

    /// Whether it was asked to.
    var isMade: Bool { state.withLock { $0.isMade } }

    /// Calls `action` when it is asked to stop, at once if it was already.
    func onMade(_ action: @escaping @Sendable () -> Void) {
        let isMade = state.withLock { state in
            state.action = action
            return state.isMade
        }
        if isMade { action() }
    }
}
