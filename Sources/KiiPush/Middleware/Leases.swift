import Synchronization

/// A deduplicator's access to its store, which may throw.
///
/// An end that the store did not take is kept, and reported again before the next message begins; while the store
/// throws, no message gets a lease. So there are never more such ends than messages that were in flight.
final class Leases: Sendable {
    private struct End {
        let lease: SeenLease
        let isRemembered: Bool
        /// When it ended; a message that is remembered late is remembered from then on.
        let time: MonotonicInstant
    }

    private let store: any SeenStore
    private let failures = Atomic<Int>(0)
    private let lastFailed = Atomic<Bool>(false)
    private let unreported = RareList<End>()

    init(_ store: any SeenStore) { self.store = store }

    var isInMemory: Bool { store is InMemorySeenStore }

    /// The counts as they are now.
    var counts: Deduplicator.Counts {
        Deduplicator.Counts(
            storeFailures: failures.load(ordering: .relaxed), isStoreFailing: lastFailed.load(ordering: .relaxed),
            unreportedEnds: unreported.count, store: store.counts)
    }

    /// Looks a message up in the store, and reserves it if it is new.
    ///
    /// - Throws: what the store threw.
    func begin(_ keys: DedupeKeys, now: MonotonicInstant) throws -> SeenState {
        if !unreported.isEmpty { try reportAgain() }
        return try counted { try store.begin(keys, now: now) }
    }

    /// Reports to the store how a message ended.
    func end(_ lease: SeenLease, isRemembered: Bool, at time: MonotonicInstant) {
        let end = End(lease: lease, isRemembered: isRemembered, time: time)
        do { try report(end) } catch { unreported.change { $0.append(end) } }
    }

    private func report(_ end: End) throws {
        try counted {
            if end.isRemembered { try store.commit(end.lease, now: end.time) } else { try store.release(end.lease) }
        }
    }

    /// Reports the ends that the store did not take; a message that it still cannot remember is released.
    ///
    /// In the worst case the message is handled again, as at-least-once delivery allows.
    private func reportAgain() throws {
        while let end = unreported.change({ $0.popLast() }) {
            do { try report(end) } catch {
                do { try counted { try store.release(end.lease) } } catch {
                    unreported.change { $0.append(end) }
                    throw error
                }
            }
        }
    }

    /// Runs a call that may throw, and counts it if it does.
    private func counted<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            let result = try body()
            if lastFailed.load(ordering: .relaxed) { lastFailed.store(false, ordering: .relaxed) }
            return result
        } catch {
            failures.add(1, ordering: .relaxed)
            lastFailed.store(true, ordering: .relaxed)
            throw error
        }
    }
}
