/// The leases of the messages that are being handled, found by their keys.
struct Reservations {
    private var leases: [SeenLease] = []
    /// The places in `leases` that are free again.
    private var free: [UInt32] = []
    private var slots = KeySlots(tables: 1)

    /// How many leases have not ended.
    var count: Int { leases.count - free.count }

    /// The number of the lease under which a key is reserved.
    subscript(key: DedupeKey) -> UInt64? { place(key).map { leases[Int($0)].number } }

    /// Puts a lease in, neither of whose keys is there yet.
    mutating func insert(_ lease: SeenLease) {
        let place: UInt32
        if let unused = free.popLast() {
            place = unused
            leases[Int(place)] = lease
        } else {
            place = UInt32(leases.count)
            leases.append(lease)
        }
        slots.insert(lease.keys.primary, place)
        if let second = lease.keys.secondary { slots.insert(second, place) }
    }

    /// Takes a lease out, and says whether it was there.
    mutating func remove(_ lease: SeenLease) -> Bool {
        guard let place = place(lease.keys.primary), leases[Int(place)].number == lease.number else { return false }
        let keys = leases[Int(place)].keys
        slots.remove(keys.primary, place)
        if let second = keys.secondary { slots.remove(second, place) }
        free.append(place)
        return true
    }

    private func place(_ key: DedupeKey) -> UInt32? {
        slots.find(key) { leases[Int($0)].keys.primary == key || leases[Int($0)].keys.secondary == key }
    }
}
