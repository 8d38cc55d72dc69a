/// The places of entries by digests under a secret; several entries may have one digest.
///
/// The first half of a digest is its hash: it is as random as a dictionary would make it, and nobody who does not know
/// the secret can choose it. So a lookup hashes nothing.
struct DigestTable {
    /// At most two thirds of them are used; the place of a free one is `none`.
    private var slots = [(key: DedupeKey, place: UInt32)](repeating: DigestTable.free, count: 8)
    private var count = 0

    private static let none = UInt32.max
    private static let free = (key: DedupeKey(first: 0, second: 0), place: none)

    /// The first of a digest's places that a condition holds for.
    func first(of key: DedupeKey, where condition: (UInt32) -> Bool) -> UInt32? {
        var slot = home(of: key)
        while slots[slot].place != Self.none {
            if slots[slot].key == key, condition(slots[slot].place) { return slots[slot].place }
            slot = next(after: slot)
        }
        return nil
    }

    mutating func insert(_ key: DedupeKey, _ place: UInt32) {
        put((key, place))
        count += 1
        if count * 3 > slots.count * 2 { grow() }
    }

    /// Removes a place, and moves those behind it that could not be where their search begins.
    mutating func remove(_ key: DedupeKey, _ place: UInt32) {
        var gap = home(of: key)
        while slots[gap] != (key, place) {
            if slots[gap].place == Self.none { return }
            gap = next(after: gap)
        }
        count -= 1
        var slot = next(after: gap)
        while slots[slot].place != Self.none {
            let distance = (slot &- home(of: slots[slot].key)) & (slots.count &- 1)
            if distance >= (slot &- gap) & (slots.count &- 1) {
                slots[gap] = slots[slot]
                gap = slot
            }
            slot = next(after: slot)
        }
        slots[gap].place = Self.none
    }

    /// The slot where the search for a digest begins.
    private func home(of key: DedupeKey) -> Int { Int(truncatingIfNeeded: key.first) & (slots.count &- 1) }

    private func next(after slot: Int) -> Int { (slot &+ 1) & (slots.count &- 1) }

    private mutating func put(_ entry: (key: DedupeKey, place: UInt32)) {
        var slot = home(of: entry.key)
        while slots[slot].place != Self.none { slot = next(after: slot) }
        slots[slot] = entry
    }

    private mutating func grow() {
        let old = slots
        slots = Array(repeating: Self.free, count: old.count * 2)
        for entry in old where entry.place != Self.none { put(entry) }
    }
}
