/// Maps keys to the numbers of their entries: a hash table that never pauses.
///
/// Why not a `Dictionary`: it hashes keys that are random already, keeps a second copy of each, and moves all of them
/// at once when it grows (measured at a million keys: 159 ms). This one is split by the first bits of the key into
/// small tables that are rebuilt one at a time.
///
/// A number becomes stale when its entry is removed. It need not be removed from the index: stale numbers disappear
/// when their table is full and rebuilt.
struct DigestIndex {
    private var tables: [Table]

    /// Makes an empty index of 1 to 65,536 tables, a power of two: about one for each thousand keys expected.
    init(tables count: Int) { tables = Array(repeating: Table(), count: count) }

    @inline(__always)
    private func place(_ key: DedupeKey) -> Int { Int(truncatingIfNeeded: key.first &>> 48) & (tables.count &- 1) }

    /// The number of `key`; `isKey` returns whether a number belongs to the key, and false for a stale number.
    @inline(__always)
    func find(_ key: DedupeKey, where isKey: (UInt32) -> Bool) -> UInt32? {
        tables[place(key)].find(Self.tag(key), where: isKey)
    }

    /// Inserts a key; if it is in the index already, it then has two numbers.
    ///
    /// `isStale` returns whether a number may be dropped, and is called only when a table is rebuilt.
    @inline(__always)
    mutating func insert(_ key: DedupeKey, _ number: UInt32, where isStale: (UInt32) -> Bool = { _ in false }) {
        tables[place(key)].insert(Slot(tag: Self.tag(key), number: number), where: isStale)
    }

    /// Removes a key, unless it has another number now.
    mutating func remove(_ key: DedupeKey, _ number: UInt32) { tables[place(key)].remove(Self.tag(key), number) }

    /// How many slots there are, including the free ones.
    var capacity: Int { tables.reduce(0) { $0 + $1.capacity } }

    @inline(__always)
    private static func tag(_ key: DedupeKey) -> UInt32 { UInt32(truncatingIfNeeded: key.first) }
}

extension DigestIndex {
    fileprivate struct Slot {
        /// Enough of the key to find its place when the table is rebuilt.
        let tag: UInt32
        let number: UInt32
    }

    /// The tags of the seven slots of a group, a byte each: enough of the key to skip nearly all others without reading
    /// slot or key.
    ///
    /// A million keys have 2 MB of these, which fit into a processor's cache; 13 MB of slots do not.
    fileprivate struct Group {
        static let size = 7
        private static let each: UInt64 = 0x01_0101_0101_0101
        private static let used: UInt64 = 0x80_8080_8080_8080

        /// A byte is zero for a free slot; else its top bit is set, and the others are the key's.
        ///
        /// The topmost byte counts the keys that found the group full and are in a later group, up to 255.
        private var word: UInt64 = 0

        @inline(__always)
        private static func mark(_ tag: UInt32) -> UInt64 { UInt64(tag | 0x80) & 0xFF }

        /// The first slot that is free.
        @inline(__always)
        var free: Int? {
            let free = ~word & Self.used
            return free == 0 ? nil : free.trailingZeroBitCount / 8
        }

        @inline(__always)
        var keys: Places { Places(bits: word & Self.used) }

        /// The slots that may hold the key of a tag.
        @inline(__always)
        func keys(_ tag: UInt32) -> Places {
            // The bytes that are zero now; a byte beside a zero byte may match falsely.
            let difference = word ^ (Self.mark(tag) &* Self.each)
            return Places(bits: (difference &- Self.each) & ~difference & Self.used)
        }

        @inline(__always)
        mutating func add(_ tag: UInt32, at place: Int) { word |= Self.mark(tag) &<< UInt64(place &* 8) }

        @inline(__always)
        mutating func remove(at place: Int) { word &= ~(0xFF &<< UInt64(place &* 8)) }

        @inline(__always)
        private var passed: UInt64 { word &>> 56 }

        @inline(__always)
        var isPassed: Bool { passed > 0 }

        @inline(__always)
        mutating func pass() { if passed < 255 { word &+= 1 << 56 } }

        /// Reverses one `pass`.
        @inline(__always)
        mutating func unpass() { if passed < 255 { word &-= 1 << 56 } }
    }

    /// Some slots of a group, from the first to the last.
    fileprivate struct Places: Sequence, IteratorProtocol {
        /// The top bit of the byte of each.
        var bits: UInt64

        @inline(__always)
        mutating func next() -> Int? {
            guard bits != 0 else { return nil }
            defer { bits &= bits &- 1 }
            return bits.trailingZeroBitCount / 8
        }
    }

    /// Open addressing by groups: a key is in its tag's group, or in the first later one that was not full.
    fileprivate struct Table {
        private var groups = [Group()]
        private var slots: [Slot] = []
        /// How many slots are not free.
        private var used = 0

        var capacity: Int { slots.count }

        /// The first group for a tag: its share of the whole range, so that any number of groups works.
        @inline(__always)
        private static func home(_ tag: UInt32, _ groups: Int) -> Int {
            Int(truncatingIfNeeded: (UInt64(tag) &* UInt64(truncatingIfNeeded: groups)) &>> 32)
        }

        @inline(__always)
        private static func next(_ group: Int, _ groups: Int) -> Int { group &+ 1 == groups ? 0 : group &+ 1 }

        @inline(__always)
        func find(_ tag: UInt32, where isKey: (UInt32) -> Bool) -> UInt32? {
            var index = Self.home(tag, groups.count)
            // One round at most: after removals, every group may have been passed.
            for _ in groups.indices {
                let group = groups[index]
                for place in group.keys(tag) {
                    let number = slots[index &* Group.size &+ place].number
                    if isKey(number) { return number }
                }
                if !group.isPassed { break }
                index = Self.next(index, groups.count)
            }
            return nil
        }

        @inline(__always)
        mutating func insert(_ slot: Slot, where isStale: (UInt32) -> Bool) {
            // Beyond four fifths, too many groups are full.
            if (used &+ 1) &* 5 > slots.count &* 4 { rebuild(where: isStale) }
            var groups = groups.mutableSpan
            let place = Self.take(slot.tag, &groups)
            slots[place] = slot
            used += 1
        }

        /// Reserves a free slot for a tag.
        @inline(__always)
        private static func take(_ tag: UInt32, _ groups: inout MutableSpan<Group>) -> Int {
            var index = home(tag, groups.count)
            while true {
                if let place = groups[index].free {
                    groups[index].add(tag, at: place)
                    return index &* Group.size &+ place
                }
                groups[index].pass()
                index = next(index, groups.count)
            }
        }

        mutating func remove(_ tag: UInt32, _ number: UInt32) {
            let home = Self.home(tag, groups.count)
            var index = home
            for _ in groups.indices {
                for place in groups[index].keys(tag) where slots[index &* Group.size &+ place].number == number {
                    groups[index].remove(at: place)
                    used -= 1
                    while index != home {
                        index = (index == 0 ? groups.count : index) - 1
                        groups[index].unpass()
                    }
                    return
                }
                if !groups[index].isPassed { return }
                index = Self.next(index, groups.count)
            }
        }

        /// Drops stale entries and reserves a third more slots than are left, so that memory stays close to its use; a
        /// small table doubles, or it would be rebuilt too often.
        @inline(never)
        private mutating func rebuild(where isStale: (UInt32) -> Bool) {
            var used = 0
            forEachKey { if !isStale($0.number) { used += 1 } }
            let wanted = used < 2048 ? used * 5 / 2 : used * 5 / 3
            let count = wanted / Group.size + 1
            // Keys are inserted through spans, because an array would check for sharing each time.
            var newGroups = Array(repeating: Group(), count: count)
            var newSlots = Array(repeating: Slot(tag: 0, number: 0), count: count * Group.size)
            do {
                var groups = newGroups.mutableSpan
                var slots = newSlots.mutableSpan
                forEachKey { if !isStale($0.number) { slots[Self.take($0.tag, &groups)] = $0 } }
            }
            (groups, slots, self.used) = (newGroups, newSlots, used)
        }

        @inline(__always)
        private func forEachKey(_ body: (Slot) -> Void) {
            let (groups, slots) = (groups.span, slots.span)
            for index in groups.indices {
                for place in groups[index].keys { body(slots[index &* Group.size &+ place]) }
            }
        }
    }
}
