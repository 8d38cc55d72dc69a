/// The leases of the messages that are being handled, found by their keys.
struct Reservations {
    /// Up to eight leases, which are looked at one by one: a message that is alone in flight costs 18 ns less so.
    private var few: [SeenLease] = []
    private var others = IndexedLeases()

    /// How many leases have not ended.
    var count: Int { few.count + others.count }

    /// The number of the lease under which a key is reserved.
    subscript(key: DedupeKey) -> UInt64? {
        for lease in few where lease.keys.contains(key) { return lease.number }
        return others.count == 0 ? nil : others[key]
    }

    /// Puts a lease in, neither of whose keys is there yet.
    mutating func insert(_ lease: SeenLease) {
        if few.count < 8 { few.append(lease) } else { others.insert(lease) }
    }

    /// Takes a lease out, and says whether it was there.
    ///
    /// One of its keys is enough: a duplicate may have been told of it with another beside.
    mutating func remove(_ lease: SeenLease) -> Bool {
        for index in few.indices where few[index].number == lease.number {
            guard few[index].keys.contains(lease.keys.primary) else { return false }
            few[index] = few[few.count - 1]
            few.removeLast()
            return true
        }
        return others.count > 0 && others.remove(lease)
    }
}

/// Any number of leases, found through a hash table.
private struct IndexedLeases {
    private var leases: [SeenLease] = []
    /// The places in `leases` that are free again.
    private var free: [UInt32] = []
    private var slots = KeySlots(tables: 1)

    var count: Int { leases.count - free.count }

    subscript(key: DedupeKey) -> UInt64? { place(key).map { leases[Int($0)].number } }

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
        if let second = lease.keys.secondary, second != lease.keys.primary { slots.insert(second, place) }
    }

    mutating func remove(_ lease: SeenLease) -> Bool {
        guard let place = place(lease.keys.primary), leases[Int(place)].number == lease.number else { return false }
        let keys = leases[Int(place)].keys
        slots.remove(keys.primary, place)
        if let second = keys.secondary { slots.remove(second, place) }
        free.append(place)
        return true
    }

    private func place(_ key: DedupeKey) -> UInt32? { slots.find(key) { leases[Int($0)].keys.contains(key) } }
}

extension DedupeKeys {
    @inline(__always)
    fileprivate func contains(_ key: DedupeKey) -> Bool { primary == key || secondary == key }
}
