import Synchronization

/// Writes changes to a breaker store, one write at a time, and after a failure only when a growing pause is over.
final class BreakerWriter: Sendable {
    /// Whether a caller may write now.
    enum Turn {
        case write
        /// Another thread writes, and will include the new changes.
        case isBusy
        /// The store has just failed.
        case later
    }

    private struct State {
        var isWriting = false
        var failures = 0
        var untold: (any Error)?
        var pause = BreakerWriter.shortestPause
        var notBefore: MonotonicInstant?

        mutating func fail(_ error: any Error) {
            failures += 1
            untold = error
        }
    }

    private static let shortestPause = Duration.seconds(1)
    private static let longestPause = Duration.seconds(30)

    private let store: any BreakerStore
    private let state = Mutex(State())

    init(_ store: any BreakerStore) { self.store = store }

    /// The breakers in the store; none if it cannot be read, which counts as a failure.
    func read() -> [TrippedBreaker] {
        do { return try store.breakers() } catch {
            state.withLock { $0.fail(error) }
            return []
        }
    }

    /// Asks for the turn to write; a caller that gets it must call ``write(_:_:)``, then ``end()``.
    func begin(_ now: MonotonicInstant) -> Turn {
        state.withLock { state in
            if state.isWriting { return .isBusy }
            if let end = state.notBefore, now < end { return .later }
            state.isWriting = true
            return .write
        }
    }

    /// Writes a batch; returns whether it was stored.
    func write(_ batch: BreakerChanges.Batch, _ now: MonotonicInstant) -> Bool {
        if batch.isEmpty { return true }
        do {
            try store.write(batch.opened, closed: batch.closed)
            state.withLock { ($0.pause, $0.notBefore) = (Self.shortestPause, nil) }
            return true
        } catch {
            state.withLock { state in
                state.fail(error)
                state.notBefore = now.advanced(by: state.pause)
                state.pause = min(state.pause * 2, Self.longestPause)
            }
            return false
        }
    }

    func end() { state.withLock { $0.isWriting = false } }

    /// How often the store threw.
    var failures: Int { state.withLock { $0.failures } }

    /// The last error that the store threw; nil if it was returned already.
    func takeFailure() -> (any Error)? {
        state.withLock { state in
            defer { state.untold = nil }
            return state.untold
        }
    }
}
