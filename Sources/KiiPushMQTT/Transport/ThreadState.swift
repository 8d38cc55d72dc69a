#if MQTT
import KiiPush
import KiiPushSystem
import Synchronization

/// The answers that a transport has to publish: from the tasks that wait for them to the transport's thread and back.
///
/// An answer waits here until a broker has confirmed it, over lost connections.
final class Outgoing: Sendable {
    /// An answer, and the task that waits for the broker's confirmation.
    struct Item: Sendable {
        let number: UInt64
        let answer: UnsentAnswer
        fileprivate let waiter: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var last: UInt64 = 0
        var waiting: [Item] = []
        /// Those that were published over this connection, by the id of the packet.
        var published: [Int32: Item] = [:]
        /// Wakes the thread while the transport runs.
        var signal: ThreadSignal?

        mutating func removeWaiting(_ number: UInt64) -> Item? {
            waiting.firstIndex { $0.number == number }.map { waiting.remove(at: $0) }
        }
    }

    private let state = Mutex(State())

    // MARK: For tasks

    /// Waits until a broker has confirmed an answer; throws ``AnswerRefused``, or `CancellationError`.
    func send(_ answer: UnsentAnswer) async throws {
        let number = state.withLock { state in
            state.last += 1
            return state.last
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                let signal = state.withLock { state in
                    state.waiting.append(Item(number: number, answer: answer, waiter: waiter))
                    return state.signal
                }
                signal?.raise()
                // If it was cancelled before it waits, nobody else would end the wait.
                if Task.isCancelled { cancel(number) }
            }
        } onCancel: {
            cancel(number)
        }
    }

    private func cancel(_ number: UInt64) {
        let item: Item? = state.withLock { state in
            if let item = state.removeWaiting(number) { return item }
            guard let (id, item) = state.published.first(where: { $0.value.number == number }) else { return nil }
            state.published[id] = nil
            return item
        }
        item?.waiter.resume(throwing: CancellationError())
    }

    // MARK: For the thread

    /// Wakes the thread from now on when there is an answer; with nil, nobody.
    func wake(_ signal: ThreadSignal?) { state.withLock { $0.signal = signal } }

    /// The answers that wait; each waits until it is published or refused.
    var waiting: [Item] { state.withLock { $0.waiting } }

    /// Whether this connection has published an answer that the broker has not confirmed.
    var awaitsConfirmation: Bool { state.withLock { !$0.published.isEmpty } }

    /// Records that an answer was published as the packet of an id, unless it was cancelled meanwhile.
    func published(_ item: Item, as id: Int32) {
        state.withLock { state in
            if let item = state.removeWaiting(item.number) { state.published[id] = item }
        }
    }

    /// Ends the wait for an answer that cannot be published, unless it was cancelled meanwhile.
    func refused(_ item: Item, _ refusal: AnswerRefused) {
        state.withLock { $0.removeWaiting(item.number) }?.waiter.resume(throwing: refusal)
    }

    /// Ends the wait for the packet of an id; other packets have nobody who waits.
    func confirmed(_ id: Int32, _ failure: (any Error)?) {
        guard let item = state.withLock({ $0.published.removeValue(forKey: id) }) else { return }
        if let failure { item.waiter.resume(throwing: failure) } else { item.waiter.resume() }
    }

    /// Has the next connection publish again what this one has not confirmed.
    func publishAgain() {
        state.withLock { state in
            state.waiting = state.published.values.sorted { $0.number < $1.number } + state.waiting
            state.published = [:]
        }
    }
}

/// A broker does not take an answer for now; it is sent again.
struct AnswerNotTaken: ReportedError { let report: String }

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
