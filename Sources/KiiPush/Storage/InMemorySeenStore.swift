import Synchronization

/// A deduplication store in memory, which lasts as long as the process.
///
/// Every call takes constant time: it forgets a few expired messages along the way. Memory follows use: nothing is
/// reserved for a window that is not full.
public final class InMemorySeenStore: SeenStore {
    let state: Mutex<SeenTable>

    /// Makes an empty store.
    public init(window: SeenWindow = .standard) { state = Mutex(SeenTable(window)) }

    /// Asks for a message and reserves it if it is new.
    public func begin(_ keys: DedupeKeys, now: MonotonicInstant) -> SeenState { state.withLock { $0.begin(keys, now) } }

    /// Remembers a message as handled.
    public func commit(_ lease: SeenLease, now: MonotonicInstant) { state.withLock { $0.commit(lease, now) } }

    /// Forgets a reservation.
    public func release(_ lease: SeenLease) { state.withLock { $0.release(lease) } }

    /// What the store holds now; never nil.
    public var counts: SeenCounts? { state.withLock { $0.counts } }
}
