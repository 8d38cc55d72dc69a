import KiiPush
import Synchronization

/// A deduplication store that survives the processes of a run, but for what they had reserved.
final class SimulatedSeenStore: Sendable {
    fileprivate let store = InMemorySeenStore()
    private let reserved = Mutex<[UInt64: SeenLease]>([:])

    /// Begins anew for another process: what was in flight is not known any more.
    func restart() {
        let leases = reserved.withLock { reserved in
            defer { reserved = [:] }
            return reserved
        }
        for lease in leases.values { store.release(lease) }
    }

    fileprivate func hold(_ lease: SeenLease) { reserved.withLock { $0[lease.number] = lease } }
    fileprivate func forget(_ lease: SeenLease) { reserved.withLock { $0[lease.number] = nil } }
}

/// The store for one process.
struct SimulatedSeenLink: SeenStore {
    let shared: SimulatedSeenStore
    let life: Life

    private func check() throws { if !life.isAlive { throw DiskFailed() } }

    func begin(_ keys: DedupeKeys, now: MonotonicInstant) throws -> SeenState {
        try check()
        let state = shared.store.begin(keys, now: now)
        if case .fresh(let lease) = state { shared.hold(lease) }
        return state
    }

    func commit(_ lease: SeenLease, now: MonotonicInstant) throws {
        try check()
        shared.store.commit(lease, now: now)
        shared.forget(lease)
    }

    func release(_ lease: SeenLease) throws {
        try check()
        shared.store.release(lease)
        shared.forget(lease)
    }

    func isInFlight(_ lease: SeenLease) throws -> Bool {
        try check()
        return shared.store.isInFlight(lease)
    }
}
