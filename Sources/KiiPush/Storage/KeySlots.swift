/// Finds the numbers under which keys are kept: a hash table that never pauses.
///
/// Why not a `Dictionary`: it hashes keys that are random already, keeps a second copy of each, and moves all of them
/// at once when it grows (measured at a million keys: 159 ms). This one is split by the first bits of the key into
/// small tables that grow each for itself. A slot is eight bytes: a number, and enough of the key to know its
/// place and to pass by nearly all others without a look at their keys.
struct KeySlots {
    /// The largest number that can be kept.
    static let largest: UInt32 = 0x7FFF_FFFF

    private var tables: [Table]

    /// Makes an empty one of 1 to 65,536 tables, a power of two: about one for each thousand keys expected.
    init(tables count: Int) { tables = Array(repeating: Table(), count: count) }

    @inline(__always)
    private func place(_ key: DedupeKey) -> Int { Int(truncatingIfNeeded: key.first &>> 48) & (tables.count &- 1) }

    /// The number of `key`; `isKey` tells whether a number is that of the key that is meant.
    @inline(__always)
    func find(_ key: DedupeKey, where isKey: (UInt32) -> Bool) -> UInt32? {
        tables[place(key)].find(Self.tag(key), where: isKey)
    }

    /// Puts a key in that is not there yet.
    mutating func insert(_ key: DedupeKey, _ number: UInt32) { tables[place(key)].insert(Self.tag(key), number) }

    /// Takes a key out, unless it has another number by now.
    mutating func remove(_ key: DedupeKey, _ number: UInt32) { tables[place(key)].remove(Self.tag(key), number) }

    @inline(__always)
    private static func tag(_ key: DedupeKey) -> UInt32 { UInt32(truncatingIfNeeded: key.first) }
}

extension KeySlots {
    fileprivate struct Slot {
        static let free = Slot(tag: 0, marked: 0)
        let tag: UInt32
        /// The number with its top bit set, so that no used slot looks free.
        let marked: UInt32
        var isFree: Bool { marked == 0 }
        var number: UInt32 { marked & KeySlots.largest }

        init(tag: UInt32, number: UInt32) { self.init(tag: tag, marked: number | ~KeySlots.largest) }
        private init(tag: UInt32, marked: UInt32) { (self.tag, self.marked) = (tag, marked) }
    }

    /// Open addressing: a slot lies at its tag's place, or as soon behind it as one was free.
    fileprivate struct Table {
        private var slots: [Slot] = []
        private var count = 0

        /// Where a tag belongs: its share of the whole range, so that any number of slots will do.
        @inline(__always)
        private func home(_ tag: UInt32) -> Int {
            Int(truncatingIfNeeded: (UInt64(tag) &* UInt64(truncatingIfNeeded: slots.count)) &>> 32)
        }

        @inline(__always)
        private func next(_ index: Int) -> Int { index &+ 1 == slots.count ? 0 : index &+ 1 }

        @inline(__always)
        func find(_ tag: UInt32, where isKey: (UInt32) -> Bool) -> UInt32? {
            guard count > 0 else { return nil }
            var index = home(tag)
            while true {
                let slot = slots[index]
                if slot.isFree { return nil }
                if slot.tag == tag, isKey(slot.number) { return slot.number }
                index = next(index)
            }
        }

        mutating func insert(_ tag: UInt32, _ number: UInt32) {
            // Fuller than seven tenths, a free slot is far to seek; growth by a quarter keeps memory near what is used.
            if (count + 1) * 10 > slots.count * 7 { resize(to: max(8, slots.count + slots.count / 4)) }
            put(Slot(tag: tag, number: number))
            count += 1
        }

        private mutating func put(_ slot: Slot) {
            var index = home(slot.tag)
            while !slots[index].isFree { index = next(index) }
            slots[index] = slot
        }

        mutating func remove(_ tag: UInt32, _ number: UInt32) {
            guard count > 0 else { return }
            var index = home(tag)
            while slots[index].tag != tag || slots[index].number != number || slots[index].isFree {
                if slots[index].isFree { return }
                index = next(index)
            }
            close(index)
            count -= 1
            // A small one is kept: the number of messages in flight goes up and down all the time.
            if slots.count > 256, count * 4 < slots.count { resize(to: slots.count / 2) }
        }

        /// Frees a slot and moves up those behind it that belong there or before.
        private mutating func close(_ index: Int) {
            var gap = index
            var other = next(index)
            while !slots[other].isFree {
                if distance(home(slots[other].tag), other) >= distance(gap, other) {
                    slots[gap] = slots[other]
                    gap = other
                }
                other = next(other)
            }
            slots[gap] = .free
        }

        @inline(__always)
        private func distance(_ from: Int, _ to: Int) -> Int { to >= from ? to &- from : to &- from &+ slots.count }

        private mutating func resize(to size: Int) {
            let old = slots
            slots = Array(repeating: .free, count: size)
            for slot in old where !slot.isFree { put(slot) }
        }
    }
}
