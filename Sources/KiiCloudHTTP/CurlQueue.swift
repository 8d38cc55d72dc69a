#if HTTP
import Glibc
import Synchronization

/// The requests that wait for the thread, and the thread's beginning and end.
final class CurlQueue: Sendable {
    let settings: CurlSettings
    private let state = Mutex(State())

    private struct State {
        /// Those that wait, the first one first; at most `mostWaiting`.
        var waiting: [Exchange] = []
        /// How many the thread had under way when it looked last.
        var running = 0
        /// Whether one of those was cancelled, and only takes room.
        var hasCancelled = false
        /// What the thread sleeps in; nil when no thread takes requests.
        var multi: CurlMulti?
        var isClosed = false
        /// The threads that are not quite gone.
        var threads = 0
        var closers: [@Sendable () -> Void] = []

        /// Takes out those that nobody waits for.
        mutating func purge() {
            guard hasCancelled else { return }
            hasCancelled = false
            waiting.removeAll { $0.isOver }
        }
    }

    init(_ settings: CurlSettings) { self.settings = settings }

    // MARK: From tasks

    /// Has a request sent, or ends it when there is no room.
    func add(_ exchange: Exchange) {
        let refusal = state.withLock { state -> CurlError? in
            if state.isClosed { return .closed }
            state.purge()
            // Some of them need not wait.
            let free = settings.mostAtOnce - state.running
            guard state.waiting.count < settings.mostWaiting + free else { return .full(waiting: settings.mostWaiting) }
            if state.multi == nil {
                guard let multi = CurlMulti(settings) else { return .unusable("libcurl has no memory") }
                guard startThread({ CurlRounds(multi, self).serve() }) else {
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

    /// Says that a request was cancelled, wherever it is.
    func cancel() {
        state.withLock { state in
            state.hasCancelled = true
            state.multi?.wake()
        }
    }

    /// Takes no further request, ends all, and calls `done` when the thread is gone.
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

    /// What the thread is to do next.
    struct Orders {
        var begins: [Exchange] = []
        var expired: [Exchange] = []
        /// When the first of those that wait has waited too long.
        var deadline: ContinuousClock.Instant?
        var isClosed = false
    }

    /// Takes as many requests out as may be under way beside those that are.
    func take(beside running: Int) -> Orders {
        state.withLock { state in
            var orders = Orders(isClosed: state.isClosed)
            state.purge()
            let now = ContinuousClock.now
            // All have the same limit, so that those in front are the first to have waited too long.
            let expired = state.waiting.prefix { $0.deadline <= now }.count
            orders.expired = Array(state.waiting.prefix(expired))
            orders.begins = Array(state.waiting.dropFirst(expired).prefix(settings.mostAtOnce - running))
            state.running = running + orders.begins.count
            state.waiting.removeFirst(expired + orders.begins.count)
            orders.deadline = state.waiting.first?.deadline
            return orders
        }
    }

    /// Lets go of what the thread sleeps in, unless there is something to do again.
    func leave() -> Bool {
        state.withLock { state in
            guard state.waiting.isEmpty else { return false }
            (state.multi, state.running) = (nil, 0)
            return true
        }
    }

    /// Says that a thread is gone with all that it had.
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

/// Starts a thread that takes no signals, since the program has its own ways for them.
///
/// - Returns: whether there was a thread to be had.
private func startThread(_ work: @escaping @Sendable () -> Void) -> Bool {
    var (all, before) = (sigset_t(), sigset_t())
    // The calls read or fill in both, and keep nothing; the new thread inherits the mask.
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_BLOCK, &all, &before)
    defer { unsafe _ = pthread_sigmask(SIG_SETMASK, &before, nil) }
    var thread = pthread_t()
    // The thread takes over the reference that is retained here.
    let context = unsafe Unmanaged.passRetained(ThreadWork(work))
    let error = unsafe pthread_create(
        &thread, nil,
        { context in
            guard let context = unsafe context else { return nil }
            unsafe Unmanaged<ThreadWork>.fromOpaque(context).takeRetainedValue().run()
            return nil
        }, context.toOpaque())
    guard error == 0 else {
        unsafe context.release()
        return false
    }
    pthread_detach(thread)
    return true
}

/// A closure as an object, since C passes on a pointer.
private final class ThreadWork: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}
#endif
