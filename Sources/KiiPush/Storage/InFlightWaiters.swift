import Synchronization

/// Makes a duplicate wait for the end of the message that it repeats, so that both transports get the same answer.
///
/// There is one for each deduplication store: receivers that share a store share its leases, so a duplicate may repeat
/// a message of another receiver.
final class InFlightWaiters: Sendable {
    private struct Waiter {
        let number: UInt64
        let continuation: CheckedContinuation<Disposition, Never>
    }

    private struct State {
        var waiters: [UInt64: [Waiter]] = [:]
        var lastNumber: UInt64 = 0
    }

    private let state = Mutex(State())
    /// How many wait; if none, the common case, the lock is not taken.
    private let count = Atomic<Int>(0)
    /// The ends that the store has not accepted; no copy may wait for these.
    let untold = UnreportedEnds()

    /// Waits until the message of a lease has ended.
    ///
    /// - Parameters:
    ///   - lease: the lease of the message that is handled.
    ///   - endedBefore: asks again, because the message may end while this call begins; nil while it is in flight.
    /// - Returns: the answer that the message's transport got.
    func wait(for lease: SeenLease, endedBefore: () -> Disposition?) async -> Disposition {
        await withCheckedContinuation { continuation in
            count.add(1, ordering: .sequentiallyConsistent)
            let number = state.withLock { state in
                state.lastNumber += 1
                state.waiters[lease.number, default: []].append(
                    Waiter(number: state.lastNumber, continuation: continuation))
                return state.lastNumber
            }
            // Only this waiter gives up: the others are about to get the answer.
            if let disposition = endedBefore() {
                end(lease, disposition) { $0.number == number }
            }
        }
    }

    /// Notifies everyone that waits for a lease how its message ended; call it after the deduplication store was
    /// notified.
    func finish(_ lease: SeenLease, _ disposition: Disposition) {
        guard count.load(ordering: .sequentiallyConsistent) > 0 else { return }
        end(lease, disposition) { _ in true }
    }

    private func end(_ lease: SeenLease, _ disposition: Disposition, _ condition: (Waiter) -> Bool) {
        let ended = state.withLock { state in
            let all = state.waiters.removeValue(forKey: lease.number) ?? []
            let others = all.filter { !condition($0) }
            if !others.isEmpty { state.waiters[lease.number] = others }
            return all.filter(condition)
        }
        count.subtract(ended.count, ordering: .sequentiallyConsistent)
        for waiter in ended { waiter.continuation.resume(returning: disposition) }
    }
}

extension InFlightWaiters {
    private struct Known {
        weak var waiters: InFlightWaiters?
    }

    private static let known = Mutex<[ObjectIdentifier: Known]>([:])

    /// The waiters of a store; kept by the deduplicators that use it, which also keep the store.
    static func of(_ store: any SeenStore) -> InFlightWaiters {
        // Only an object has an identity; a store of another type counts as a new one.
        guard type(of: store) is AnyClass else { return InFlightWaiters() }
        return known.withLock { known in
            known = known.filter { $0.value.waiters != nil }
            let id = ObjectIdentifier(store as AnyObject)
            let waiters = known[id]?.waiters ?? InFlightWaiters()
            known[id] = Known(waiters: waiters)
            return waiters
        }
    }
}
