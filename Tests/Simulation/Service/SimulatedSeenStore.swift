import KiiPush
import Synchronization

/// A deduplication store that survives the processes of a run, without reservations, and without commits that were not
/// part of a disk write.
final class SimulatedSeenStore: Sendable {
    private struct State {
        var store = InMemorySeenStore()
        var commits: [(lease: SeenLease, time: MonotonicInstant)] = []
        /// How many commits are on disk.
        var written = 0
    }

    private let state = Mutex(State())
    /// Whether commits wait for a write of the inbox; if not, each is on disk at once.
    private let waitsForWrites: Bool

    init(waitsForWrites: Bool) { self.waitsForWrites = waitsForWrites }

    /// Restarts for another process, which knows only the state on disk.
    func restart() {
        state.withLock { state in
            state.store = InMemorySeenStore()
            state.commits.removeSubrange(state.written...)
            for (lease, time) in state.commits {
                if case .fresh(let again) = state.store.begin(lease.keys, now: lease.arrivedAt) {
                    state.store.commit(again, now: time)
                }
            }
        }
    }

    /// Writes the waiting commits to disk; returns whether there were any.
    @discardableResult
    func write() -> Bool {
        state.withLock { state in
            defer { state.written = state.commits.count }
            return state.written < state.commits.count
        }
    }

    fileprivate var store: InMemorySeenStore { state.withLock { $0.store } }

    fileprivate func commit(_ lease: SeenLease, _ time: MonotonicInstant) {
        state.withLock { state in
            state.store.commit(lease, now: time)
            state.commits.append((lease, time))
            if !waitsForWrites { state.written = state.commits.count }
        }
    }
}

/// The store for one process.
struct SimulatedSeenLink: SeenStore {
    let shared: SimulatedSeenStore
    let life: Life

    private func check() throws { if !life.isAlive { throw DiskFailed() } }

    func begin(_ keys: DedupeKeys, now: MonotonicInstant) throws -> SeenState {
        try check()
        return shared.store.begin(keys, now: now)
    }

    func commit(_ lease: SeenLease, now: MonotonicInstant) throws {
        try check()
        shared.commit(lease, now)
    }

    func release(_ lease: SeenLease) throws {
        try check()
        shared.store.release(lease)
    }
}
