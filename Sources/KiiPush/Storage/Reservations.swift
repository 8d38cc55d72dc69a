/// The keys of the messages that are being handled, each with the number of its lease.
struct Reservations {
    private struct Entry {
        let key: DedupeKey
        let lease: UInt64
    }

    private var entries: [Entry] = []
    /// The places in `entries` that are free again.
    private var free: [UInt32] = []
    private var slots = KeySlots(tables: 1)

    /// The lease of a key; setting nil forgets the key.
    subscript(key: DedupeKey) -> UInt64? {
        get { find(key).map { entries[Int($0)].lease } }
        set {
            if let old = find(key) {
                slots.remove(key, old)
                free.append(old)
            }
            if let newValue { insert(key, newValue) }
        }
    }

    /// Puts a key in that is not there yet.
    mutating func insert(_ key: DedupeKey, _ lease: UInt64) {
        let entry = Entry(key: key, lease: lease)
        if let place = free.popLast() {
            entries[Int(place)] = entry
            slots.insert(key, place)
        } else {
            slots.insert(key, UInt32(entries.count))
            entries.append(entry)
        }
    }

    private func find(_ key: DedupeKey) -> UInt32? { slots.find(key) { entries[Int($0)].key == key } }
}
