import Synchronization

/// The end of a message under its lease.
struct LeaseEnd: Sendable {
    let lease: SeenLease
    let isRemembered: Bool
    /// When it ended; what is remembered late is remembered from then on.
    let time: MonotonicInstant
    let disposition: Disposition
}

/// The ends of messages that a seen store could not be told, so that no copy waits for a message that has ended.
///
/// For the store such a message is still in flight. Kept until the store was told at last. Bounded: while the list is
/// full no message gets a new lease, so it holds at most `bound` and those that were in flight when it was filled.
final class UnreportedEnds: Sendable {
    static let bound = 1024

    private let ends = Mutex<[LeaseEnd]>([])
    /// Lets the common case, the store is told each end, go by without the lock.
    private let total = Atomic<Int>(0)

    @inline(__always)
    var count: Int { total.load(ordering: .relaxed) }

    /// The end under a lease.
    ///
    /// Always looks at the list itself: who is about to wait must not miss an end that is noted at this moment.
    subscript(lease: SeenLease) -> LeaseEnd? {
        ends.withLock { ends in ends.first { $0.lease.number == lease.number } }
    }

    func add(_ end: LeaseEnd) {
        ends.withLock { ends in
            ends.append(end)
            total.store(ends.count, ordering: .relaxed)
        }
    }

    /// The end that was not tried for longest, which is then the last in line.
    func next() -> LeaseEnd? {
        ends.withLock { ends in
            guard !ends.isEmpty else { return nil }
            let end = ends.removeFirst()
            ends.append(end)
            return end
        }
    }

    /// Takes an end off the list, when the store was told.
    func remove(_ lease: SeenLease) {
        ends.withLock { ends in
            ends.removeAll { $0.lease.number == lease.number }
            total.store(ends.count, ordering: .relaxed)
        }
    }
}
