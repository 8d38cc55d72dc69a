import Synchronization

/// An open breaker of the loop guard, as a ``BreakerStore`` keeps it.
///
/// It contains neither the bucket nor the route, only a digest of them under the store's secret.
public struct TrippedBreaker: Sendable, Hashable {
    /// The key of a breaker.
    public struct Key: Sendable, Hashable {
        /// Whether it counts a whole bucket or topic, not one object, sender, or topic and sender.
        public let isWide: Bool
        /// The route and the resource, as a digest under the store's secret.
        public let digest: DedupeKey

        /// Makes a key from its parts, as a store reads them back.
        public init(isWide: Bool, digest: DedupeKey) {
            self.isWide = isWide
            self.digest = digest
        }
    }

    /// The key of the breaker.
    public let key: Key
    /// How long it is open; doubled each time that the loop continues.
    public let coolDown: Duration
    /// When that time is over, on the receiver's clock, and one message may be tried alone.
    public let until: MonotonicInstant

    /// Makes a breaker from its parts, as a store reads them back.
    public init(key: Key, coolDown: Duration, until: MonotonicInstant) {
        self.key = key
        self.coolDown = coolDown
        self.until = until
    }
}

/// Keeps open breakers over a restart, so that a loop does not get its first 20 messages again.
///
/// A ``LoopGuard`` owns one. It reads the store once, when it is made, and writes when a breaker opens or closes, never
/// for a message. Guarantees to the guard:
/// - Each call is one atomic step, from any thread.
/// - What was written is kept when ``write(_:closed:)`` returns; in a store that outlives the process, it is on disk. A
///   call that throws has changed nothing.
/// - For each key, the store has the breaker that was written last. Closing one that does not exist changes nothing.
/// - Keys and waits are returned as they were written, and in the process that wrote them so are the times. In a later
///   process a time is as far ahead of that process's clock as the store can tell, or over. The guard limits each to
///   its wait, counted from the moment when it is read, whatever a wall clock says.
/// - Beyond its bound it forgets the breakers that opened longest ago. No guard has more than
///   ``LoopGuard/mostBreakers``.
/// - The secret never changes, not even in a later process: keys under another secret would be meaningless.
///
/// To test a store of yours, run `BreakerStoreContract` from KiiPushContracts; it checks each of these.
public protocol BreakerStore: Sendable {
    /// The secret that the keys of its breakers are made with.
    var secret: DedupeSecret { get }

    /// The breakers that are kept, in any order.
    ///
    /// - Throws: if they cannot be read; the guard then starts with none.
    func breakers() throws -> [TrippedBreaker]

    /// Stores open breakers, replacing older ones of their keys, and removes those that have closed.
    ///
    /// It may wait for the disk: only the thread whose message opened a breaker waits.
    ///
    /// - Parameters:
    ///   - opened: breakers that have opened, each with another key.
    ///   - closed: the keys of other breakers that have closed.
    /// - Throws: if they cannot be stored; the guard writes them again later.
    func write(_ opened: [TrippedBreaker], closed: [TrippedBreaker.Key]) throws
}

/// A breaker store in memory, which lasts as long as the process; for tests, and for guards that are recreated.
public final class InMemoryBreakerStore: BreakerStore {
    private struct State {
        var breakers: [TrippedBreaker.Key: (breaker: TrippedBreaker, number: UInt64)] = [:]
        var last: UInt64 = 0
    }

    /// The secret of this process.
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
