import Synchronization

/// Lets a duplicate wait for the end of the message that it repeats, to share what the transport is told.
final class InFlightWaiters: Sendable {
    private typealias Waiter = CheckedContinuation<Disposition, Never>
    private let waiters = Mutex<[UInt64: [Waiter]]>([:])
    /// Lets the common case, nobody waits, go by without the lock.
    private let count = Atomic<Int>(0)

    /// Waits until the message of a lease has ended.
    ///
    /// - Parameter isInFlight: asks the seen store once more, for the message may end while this call begins. Then
    ///   nobody is left who knows how, and the transport is told to retry, which is always safe.
    func wait(for lease: SeenLease, isInFlight: () -> Bool) async -> Disposition {
        await withCheckedContinuation { waiter in
            count.add(1, ordering: .sequentiallyConsistent)
            waiters.withLock { $0[lease.number, default: []].append(waiter) }
            if !isInFlight() { finish(lease, .retryLater) }
        }
    }

    /// Tells all who wait for a lease how its message ended; call it when the seen store has been told.
    func finish(_ lease: SeenLease, _ disposition: Disposition) {
        guard count.load(ordering: .sequentiallyConsistent) > 0 else { return }
        let ended = waiters.withLock { $0.removeValue(forKey: lease.number) } ?? []
        count.subtract(ended.count, ordering: .sequentiallyConsistent)
        for waiter in ended { waiter.resume(returning: disposition) }
    }
}
