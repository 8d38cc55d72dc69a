#if HTTP
import KiiCloud
import Synchronization

/// A request and its answer, between the task that waits for it and the thread that sends it.
final class Exchange: Sendable {
    let request: HTTPRequest
    let address: RequestAddress
    /// When it has taken too long.
    let deadline: ContinuousClock.Instant

    private let state = Mutex(State())

    private struct State {
        var result: Result<HTTPResponse, any Error>?
        var waiter: CheckedContinuation<HTTPResponse, any Error>?
    }

    init(_ request: HTTPRequest, _ address: RequestAddress, deadline: ContinuousClock.Instant) {
        self.request = request
        self.address = address
        self.deadline = deadline
    }

    /// Whether nobody waits for the answer any more.
    var isOver: Bool { state.withLock { $0.result != nil } }

    /// Ends it; the first end counts.
    func finish(_ result: Result<HTTPResponse, any Error>) {
        let waiter = state.withLock { state -> CheckedContinuation<HTTPResponse, any Error>? in
            guard state.result == nil else { return nil }
            state.result = result
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(with: result)
    }

    /// Waits for its end.
    func answer() async throws -> HTTPResponse {
        try await withCheckedThrowingContinuation { waiter in
            let known = state.withLock { state in
                if state.result == nil { state.waiter = waiter }
                return state.result
            }
            if let known { waiter.resume(with: known) }
        }
    }
}
#endif
