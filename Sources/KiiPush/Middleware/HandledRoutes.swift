import Synchronization

/// The routes that handled a message which failed for others, until it has ended: they do not run again when it is
/// redelivered.
final class HandledRoutes: Sendable {
    private struct Entry {
        let keys: DedupeKeys
        let arrivedAt: MonotonicInstant
        var routes: [String]
    }

    private let weakAge: Int64
    private let entries = Mutex<[Entry]>([])
    /// Spares the lock in the common case that no message has failed in part.
    private let total = Atomic<Int>(0)

    /// Makes an empty list; messages with one weak key are the same if they arrived at most this far apart.
    init(weakAge: Duration) { self.weakAge = weakAge.inNanoseconds }

    private var isEmpty: Bool { total.load(ordering: .relaxed) == 0 }

    /// The routes that have handled the message of a lease.
    func routes(of lease: SeenLease) -> [String] {
        if isEmpty { return [] }
        return entries.withLock { entries in entries.first { isSame($0, lease) }?.routes ?? [] }
    }

    /// Adds routes that have handled the message of a lease.
    func add(_ routes: [String], of lease: SeenLease) {
        entries.withLock { entries in
            if let index = entries.firstIndex(where: { isSame($0, lease) }) {
                entries[index].routes += routes.filter { !entries[index].routes.containsExactly($0) }
            } else {
                if entries.count >= Deduplicator.mostPartlyHandled { entries.removeFirst() }
                entries.append(Entry(keys: lease.keys, arrivedAt: lease.arrivedAt, routes: routes))
            }
            total.store(entries.count, ordering: .relaxed)
        }
    }

    /// Forgets the message of a lease, which has ended.
    func remove(_ lease: SeenLease) {
        if isEmpty { return }
        entries.withLock { entries in
            entries.removeAll { isSame($0, lease) }
            total.store(entries.count, ordering: .relaxed)
        }
    }

    private func isSame(_ entry: Entry, _ lease: SeenLease) -> Bool {
        guard entry.keys.isSameMessage(as: lease.keys) else { return false }
        return lease.keys.strength == .strong || entry.arrivedAt.isWithin(nanoseconds: weakAge, of: lease.arrivedAt)
    }
}
