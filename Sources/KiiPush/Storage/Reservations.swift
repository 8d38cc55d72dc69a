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
            if let newValue { insert(Entry(key: key, lease: newValue)) }
        }
    }

    private func find(_ key: DedupeKey) -> UInt32? { slots.find(key) { entries[Int($0)].key == key } }

    private mutating func insert(_ entry: Entry) {
        if let place = free.popLast() {
            entries[Int(place)] = entry
            slots.insert(entry.key, place)
        } else {
            slots.insert(entry.key, UInt32(entries.count))
            entries.append(entry)
        }
    }
}
