#if HTTP
import CLibrary
import KiiCloud
import Synchronization

/// The queue of requests for the thread, and the thread's lifetime.
final class CurlQueue: Sendable {
    let settings: CurlSettings
    private let state = Mutex(State())

    private struct State {
        /// The waiting requests, oldest first; at most `mostWaiting`.
        var waiting: [Exchange] = []
        /// How many requests the thread had in progress at its last round.
        var running = 0
        /// Whether one of those was cancelled, and only occupies a slot.
        var hasCancelled = false
        /// The handle in which the thread sleeps; nil if no thread accepts requests.
        var multi: CurlMulti?
        var isClosed = false
        /// The number of threads that have not fully ended.
        var threads = 0
        var closers: [@Sendable () -> Void] = []

        mutating func purge() {
            guard hasCancelled else { return }
            hasCancelled = false
            waiting.removeAll { $0.isOver }
        }
    }

    init(_ settings: CurlSettings) { self.settings = settings }

    // MARK: From tasks

    func add(_ exchange: Exchange) {
        let refusal = state.withLock { state -> CurlError? in
            if state.isClosed { return .closed }
            state.purge()
            // Some of them need not wait.
            let free = settings.mostAtOnce - state.running
            guard state.waiting.count - free < settings.mostWaiting else { return .full(waiting: settings.mostWaiting) }
            if state.multi == nil {
                guard let multi = CurlMulti(settings) else { return .unusable("libcurl has no memory") }
                guard createThread({ CurlRounds(multi, self).serve() }) else {
                    multi.close()
                    return .unusable("no thread could be started")
                }
                state.multi = multi
                state.threads += 1
            }
            state.waiting.append(exchange)
            state.multi?.wake()
            return nil
        }
        if let refusal { exchange.finish(.failure(refusal)) }
    }

    func cancel() {
        state.withLock { state in
            state.hasCancelled = true
            state.multi?.wake()
        }
    }

    /// Refuses further requests, ends all, and calls `done` when the thread has ended.
    func close(then done: (@Sendable () -> Void)?) {
        let (ended, isGone) = state.withLock { state -> ([Exchange], Bool) in
            state.isClosed = true
            state.multi?.wake()
            if state.threads > 0, let done { state.closers.append(done) }
            defer { state.waiting = [] }
            return (state.waiting, state.threads == 0)
        }
        for exchange in ended { exchange.finish(.failure(CurlError.closed)) }
        if isGone { done?() }
    }

    // MARK: From the thread

    struct Orders {
        var begins: [Exchange] = []
        var expired: [Exchange] = []
        var deadline: ContinuousClock.Instant?
        var isClosed = false
    }

    /// Dequeues as many requests as may run besides those in progress.
    func take(beside running: Int) -> Orders {
        state.withLock { state in
            var orders = Orders(isClosed: state.isClosed)
            state.purge()
            let now = ContinuousClock.now
            // All have the same limit, so the oldest expire first.
            let expired = state.waiting.prefix { $0.deadline <= now }.count
            orders.expired = Array(state.waiting.prefix(expired))
            orders.begins = Array(state.waiting.dropFirst(expired).prefix(settings.mostAtOnce - running))
            state.running = running + orders.begins.count
            state.waiting.removeFirst(expired + orders.begins.count)
            orders.deadline = state.waiting.first?.deadline
            return orders
        }
    }

    /// Releases the thread's handle, unless there is new work.
    func leave() -> Bool {
        state.withLock { state in
            guard state.waiting.isEmpty else { return false }
            (state.multi, state.running) = (nil, 0)
            return true
        }
    }

    func end() {
        let closers = state.withLock { state -> [@Sendable () -> Void] in
            state.threads -= 1
            guard state.threads == 0 else { return [] }
            defer { state.closers = [] }
            return state.closers
        }
        for closer in closers { closer() }
    }
}

/// A request and its answer, shared by the waiting task and the sending thread.
final class Exchange: Sendable {
    let request: HTTPRequest
    let address: RequestAddress
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
