#if HTTP
import KiiCloud
import Synchronization

/// A request and its answer, shared by the waiting task and the sending thread.
final class Exchange: Sendable {
    let request: HTTPRequest
    let address: RequestAddress
    /// When it times out.
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

    /// Whether the caller no longer waits for the answer.
    var isOver: Bool { state.withLock { $0.result != nil } }

    /// Ends it; only the first call has an effect.
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
