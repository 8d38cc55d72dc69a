#if MQTT
import KiiPushSystem
import Synchronization

/// Shared state of a transport's task and its thread.
final class Control: Sendable {
    let signal: ThreadSignal
    private let state = Mutex(State())

    private struct State {
        var isStopped = false
        /// Whether the thread is in a call that may take minutes and cannot be interrupted, such as the resolver's.
        var isAway = false
        var result: Result<Void, MQTTError>?
        var waiter: CheckedContinuation<Result<Void, MQTTError>, Never>?
    }

    init() throws(ErrorNumber) { signal = try ThreadSignal() }

    /// Whether the transport is to end.
    var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Makes the thread end, and ends the wait for it if it cannot be woken.
    func stop() {
        let isAway = state.withLock { state in
            state.isStopped = true
            return state.isAway
        }
        if isAway { finish(.success(())) }
        signal.raise()
    }

    // MARK: The end

    /// Records that the thread makes a call that may take minutes; false if it is to end instead.
    func goAway() -> Bool {
        state.withLock { state in
            state.isAway = !state.isStopped
            return state.isAway
        }
    }

    /// Records that the call has returned; false if nobody waits for the thread any more, so that it must end.
    func comeBack() -> Bool {
        state.withLock { state in
            state.isAway = false
            return !state.isStopped
        }
    }

    /// Ends the wait for the thread; only the first call has an effect.
    func finish(_ result: Result<Void, MQTTError>) {
        let waiter = state.withLock { state in
            defer { state.waiter = nil }
            if state.result == nil { state.result = result }
            return state.waiter
        }
        waiter?.resume(returning: result)
    }

    func end() async throws(MQTTError) {
        let result = await withCheckedContinuation { waiter in
            let known = state.withLock { state in
                if state.result == nil { state.waiter = waiter }
                return state.result
            }
            if let known { waiter.resume(returning: known) }
        }
        try result.get()
    }
}
#endif
