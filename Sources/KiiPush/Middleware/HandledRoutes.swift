/// The routes that handled a message which failed for others: they do not run again when it is redelivered.
final class HandledRoutes: Sendable {
    private let weakAge: Int64
    private let entries = RareList<(lease: SeenLease, routes: [String])>()

    /// Makes an empty list; messages with one weak key are the same if they arrived at most this far apart.
    init(weakAge: Duration) { self.weakAge = weakAge.inNanoseconds }

    /// The routes that have handled the message of a lease.
    func routes(of lease: SeenLease) -> [String] {
        if entries.isEmpty { return [] }
        return entries.change { entries in entries.first { isSame($0.lease, lease) }?.routes ?? [] }
    }

    /// Adds routes that have handled the message of a lease.
    func add(_ routes: [String], of lease: SeenLease) {
        entries.change { entries in
            if let index = entries.firstIndex(where: { isSame($0.lease, lease) }) {
                entries[index].routes += routes.filter { !entries[index].routes.containsExactly($0) }
            } else {
                if entries.count >= Deduplicator.mostPartlyHandled { entries.removeFirst() }
                entries.append((lease, routes))
            }
        }
    }

    /// Forgets the message of a lease, which has ended.
    func remove(_ lease: SeenLease) {
        if !entries.isEmpty { entries.change { entries in entries.removeAll { isSame($0.lease, lease) } } }
    }

    private func isSame(_ earlier: SeenLease, _ lease: SeenLease) -> Bool {
        guard earlier.keys.isSameMessage(as: lease.keys) else { return false }
        return lease.keys.strength == .strong || earlier.arrivedAt.isWithin(nanoseconds: weakAge, of: lease.arrivedAt)
    }
}
