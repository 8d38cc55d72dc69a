import Synchronization

/// The end of a message under its lease.
struct LeaseEnd: Sendable {
    let lease: SeenLease
    let isRemembered: Bool
    /// When it ended; a message that is remembered late is remembered from then on.
    let time: MonotonicInstant
    let disposition: Disposition
}

/// The ends of messages that a deduplication store rejected, so that no copy waits for a message that has ended.
///
/// The store takes such a message to be in flight. Each end is kept until the store accepts it. Bounded: while the list
/// is full no message gets a new lease, so it holds at most `bound` and those that were in flight when it became full.
final class UnreportedEnds: Sendable {
    static let bound = 1024

    private let ends = Mutex<[LeaseEnd]>([])
    /// While the store accepts every end, the common case, the lock is not taken.
    private let total = Atomic<Int>(0)

    @inline(__always)
    var count: Int { total.load(ordering: .relaxed) }

    /// The end under a lease.
    ///
    /// Always reads the list itself: a caller that is about to wait must not miss an end that is recorded at this
    /// moment.
    subscript(lease: SeenLease) -> LeaseEnd? {
        ends.withLock { ends in ends.first { $0.lease.number == lease.number } }
    }

    func add(_ end: LeaseEnd) {
        ends.withLock { ends in
            ends.append(end)
            total.store(ends.count, ordering: .relaxed)
        }
    }

    /// The end whose last attempt is the longest ago; it then moves to the end of the list.
    func next() -> LeaseEnd? {
        ends.withLock { ends in
            guard !ends.isEmpty else { return nil }
            let end = ends.removeFirst()
            ends.append(end)
            return end
        }
    }

    /// Removes an end from the list, after the store accepted it.
    func remove(_ lease: SeenLease) {
        ends.withLock { ends in
            ends.removeAll { $0.lease.number == lease.number }
            total.store(ends.count, ordering: .relaxed)
        }
    }
}
