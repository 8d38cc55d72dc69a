import Synchronization

/// Whether an agent was asked to stop, possibly before it runs.
package final class StopRequest: Sendable {
    private struct State {
        var isMade = false
        var action: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    package func make() {
        let action = state.withLock { state in
            state.isMade = true
            return state.action
        }
        action?()
    }

    /// Whether the stop was requested.
    package var isMade: Bool { state.withLock { $0.isMade } }

    /// Calls `action` when the stop is requested, at once if it already was.
    func onMade(_ action: @escaping @Sendable () -> Void) {
        let isMade = state.withLock { state in
            state.action = action
            return state.isMade
        }
        if isMade { action() }
    }
}
