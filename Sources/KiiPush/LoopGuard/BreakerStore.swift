import Synchronization

/// A breaker of the loop guard that has opened, as a ``BreakerStore`` keeps it.
///
/// It says nothing of what it holds back: neither bucket nor route, only a digest of them under the store's secret.
public struct TrippedBreaker: Sendable, Hashable {
    /// What a breaker is told by.
    public struct Key: Sendable, Hashable {
        /// Whether it counts a whole bucket or topic, and not one object, sender or topic and sender.
        public let isWide: Bool
        /// The route and the place, under the store's secret.
        public let digest: DedupeKey

        /// Makes a key from its parts, as a store reads them back.
        public init(isWide: Bool, digest: DedupeKey) {
            self.isWide = isWide
            self.digest = digest
        }
    }

    /// What it is told by.
    public let key: Key
    /// For how long it opened; twice as long as the last time where the loop went on.
    public let coolDown: Duration
    /// When that is over, on the receiver's clock, and one message may go alone.
    public let until: MonotonicInstant

    /// Makes a breaker from its parts, as a store reads them back.
    public init(key: Key, coolDown: Duration, until: MonotonicInstant) {
        self.key = key
        self.coolDown = coolDown
        self.until = until
    }
}

/// Keeps the breakers that have opened over a restart, so that a loop is not given its 20 messages anew.
///
/// A ``LoopGuard`` owns one. It reads it once, when it is made, and writes when a breaker opens or has closed, never for
/// a message. Promises to it:
/// - Each call is one atomic step, from any thread.
/// - What was written is kept when ``write(_:closed:)`` returns, in a store that outlives the process on disk. A call that
///   throws has changed nothing.
/// - Of each key there is the breaker that was written last. To close one that is not there changes nothing.
/// - Key and wait come back as they were. So does the time, in the process that wrote it; in a later one it is as far
///   ahead of that process's clock as the store can tell, or over. The guard lets none last longer than its wait
///   from the moment when it is read, whatever a wall clock says.
/// - Beyond its bound it forgets those that opened longest ago. No guard has more than ``LoopGuard/mostBreakers``.
/// - The secret is always the same, also in a later process: keys of another one would mean nothing.
///
/// To test a store of yours, run `BreakerStoreContract` from KiiPushContracts; it checks each of these.
public protocol BreakerStore: Sendable {
    /// What the keys of its breakers are made with.
    var secret: DedupeSecret { get }

    /// The breakers that are kept, in any order.
    ///
    /// - Throws: when they cannot be read; the guard begins with none then.
    func breakers() throws -> [TrippedBreaker]

    /// Keeps breakers that have opened, in place of older ones of their keys, and forgets those that have closed.
    ///
    /// It may wait for the disk: only the thread whose message opened a breaker waits.
    ///
    /// - Parameters:
    ///   - opened: breakers that have opened, each of another key.
    ///   - closed: the keys of others that have closed.
    /// - Throws: when that cannot be kept; the guard writes it again later.
    func write(_ opened: [TrippedBreaker], closed: [TrippedBreaker.Key]) throws
}

/// A breaker store that lives as long as the process, for a guard that is made anew meanwhile, and for tests.
public final class InMemoryBreakerStore: BreakerStore {
    private struct State {
        var breakers: [TrippedBreaker.Key: (breaker: TrippedBreaker, number: UInt64)] = [:]
        var last: UInt64 = 0
    }

    /// The secret of all that lives no longer than the process.
    public let secret = DedupeSecret.ofProcess
    private let capacity: Int
    private let state = Mutex(State())

    /// Makes an empty store.
    ///
    /// - Parameter capacity: how many breakers it keeps.
    public init(capacity: Int = LoopGuard.mostBreakers) { self.capacity = max(capacity, 0) }

    /// The breakers that are kept, in any order.
    public func breakers() -> [TrippedBreaker] { state.withLock { $0.breakers.values.map(\.breaker) } }

    /// Keeps breakers that have opened, and forgets those that have closed.
    public func write(_ opened: [TrippedBreaker], closed: [TrippedBreaker.Key]) {
        state.withLock { state in
            for key in closed { state.breakers[key] = nil }
            for breaker in opened {
                state.last += 1
                state.breakers[breaker.key] = (breaker, state.last)
            }
            let excess = state.breakers.count - capacity
            guard excess > 0 else { return }
            for entry in state.breakers.sorted(by: { $0.value.number < $1.value.number }).prefix(excess) {
                state.breakers[entry.key] = nil
            }
        }
    }
}
