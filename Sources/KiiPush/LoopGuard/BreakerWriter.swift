import Synchronization

/// Tells a breaker store what has changed: one write at a time, and after one that failed none before a growing pause.
final class BreakerWriter: Sendable {
    /// What whoever has something to write may do.
    enum Turn {
        case write
        /// Another thread writes, and will see what is new.
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

    /// What the store has; nothing, if it cannot be read, which is taken down.
    func read() -> [TrippedBreaker] {
        do { return try store.breakers() } catch {
            state.withLock { $0.fail(error) }
            return []
        }
    }

    /// Asks for the turn to write; who gets it has to call ``write(_:_:)``, and ``end()`` after that.
    func begin(_ now: MonotonicInstant) -> Turn {
        state.withLock { state in
            if state.isWriting { return .isBusy }
            if let end = state.notBefore, now < end { return .later }
            state.isWriting = true
            return .write
        }
    }

    /// Writes; whether it is kept.
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

    /// Why it threw the last time; nil when that was told already.
    func takeFailure() -> (any Error)? {
        state.withLock { state in
            defer { state.untold = nil }
            return state.untold
        }
    }
}
