/// A dictionary from digests under a secret to the places of entries.
///
/// The first half of a digest is its hash: it is as random as a dictionary would make it, and nobody who does not know
/// the secret can choose it. So a lookup hashes nothing.
struct DigestTable {
    /// At most two thirds of them are used; the place of a free one is `none`.
    private var slots = [(key: DedupeKey, place: UInt32)](repeating: DigestTable.free, count: 8)
    private var count = 0

    private static let none = UInt32.max
    private static let free = (key: DedupeKey(first: 0, second: 0), place: none)

    /// The place of a digest; setting nil removes it.
    subscript(key: DedupeKey) -> UInt32? {
        get {
            let place = slots[slot(of: key)].place
            return place == Self.none ? nil : place
        }
        set {
            let slot = slot(of: key)
            let isNew = slots[slot].place == Self.none
            guard let place = newValue else {
                if !isNew { remove(at: slot) }
                return
            }
            slots[slot] = (key, place)
            if isNew { count += 1 }
            if count * 3 > slots.count * 2 { grow() }
        }
    }

    /// The slot where the search for a digest begins.
    private func first(of key: DedupeKey) -> Int { Int(truncatingIfNeeded: key.first) & (slots.count &- 1) }

    private func next(after slot: Int) -> Int { (slot &+ 1) & (slots.count &- 1) }

    /// The slot of a digest, or the free one where it belongs.
    private func slot(of key: DedupeKey) -> Int {
        var slot = first(of: key)
        while slots[slot].place != Self.none, slots[slot].key != key { slot = next(after: slot) }
        return slot
    }

    /// Removes a digest, and moves those behind it that could not be where their search begins.
    private mutating func remove(at slot: Int) {
        count -= 1
        var (gap, slot) = (slot, next(after: slot))
        while slots[slot].place != Self.none {
            let distance = (slot &- first(of: slots[slot].key)) & (slots.count &- 1)
            if distance >= (slot &- gap) & (slots.count &- 1) {
                slots[gap] = slots[slot]
                gap = slot
            }
            slot = next(after: slot)
        }
        slots[gap].place = Self.none
    }

    private mutating func grow() {
        let old = slots
        slots = Array(repeating: Self.free, count: old.count * 2)
        for entry in old where entry.place != Self.none { slots[slot(of: entry.key)] = entry }
    }
}
