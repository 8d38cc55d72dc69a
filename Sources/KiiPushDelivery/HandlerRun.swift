import KiiPush
import Synchronization

/// One run of one handler, which ends when the handler returns, or when the service goes on without it.
final class HandlerRun: Sendable {
    /// How a run ended.
    enum End: Sendable {
        /// The handler returned, in time or not.
        case returned(Outcome)
        /// It did not return after its time was over, and still runs.
        case left
        /// It was not begun, since the service stops.
        case notBegun
    }

    private struct State {
        var waiter: CheckedContinuation<End, Never>?
        var task: Task<Void, Never>?
        var isCancelled = false
        var isOver = false
    }

    let number: UInt64
    let messageID: UInt64
    let route: String
    private let state: Mutex<State>

    init(_ number: UInt64, _ messageID: UInt64, _ route: String, _ waiter: CheckedContinuation<End, Never>) {
        self.number = number
        self.messageID = messageID
        self.route = route
        state = Mutex(State(waiter: waiter))
    }

    /// Starts it with the task that runs the handler, which is cancelled if the run was.
    func start(_ task: Task<Void, Never>) {
        let isCancelled = state.withLock { state in
            if !state.isOver { state.task = task }
            return state.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    /// Asks the handler to return.
    func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.task
        }
        task?.cancel()
    }

    /// Whether the handler was asked to return.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Lets the one who waits go on; the first end counts.
    ///
    /// - Returns: whether this is the first.
    @discardableResult
    func finish(_ end: End) -> Bool {
        let waiter = state.withLock { state in
            state.isOver = true
            state.task = nil
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: end)
        return waiter != nil
    }
}
