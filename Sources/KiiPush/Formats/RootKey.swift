/// A known root key: one of fifteen short ones, seventeen long ones, `aps` and the stamp.
///
/// Both styles are recognised while the payload is read, because the member that decides between them may come last.
struct RootKey {
    static let count = 34

    /// The key's slot: the short fields, then the long ones, then `aps`, then the stamp.
    let slot: Int

    static func short(_ field: KiiField) -> RootKey { RootKey(slot: Int(field.rawValue)) }
    static func long(_ field: KiiField) -> RootKey { RootKey(slot: 15 + Int(field.rawValue)) }
    static let aps = RootKey(slot: 32)
    static let stamp = RootKey(slot: 33)

    /// The slot of a field, by its raw value, in a payload of `dialect`; the URIs have only one key.
    static func slot(ofField number: Int, in dialect: Dialect) -> Int {
        dialect.hasShortKeys && number < 15 ? number : 15 &+ number
    }

    /// Whether a sender's own data may use this key in a payload of `dialect`.
    func isData(in dialect: Dialect) -> Bool {
        // `aps`, the stamp and the two URIs are not data.
        if slot >= 30 { return false }
        return !dialect.hasKiiKeys || (slot >= 15) == dialect.hasShortKeys
    }
}

/// The known keys, in a hash table without collisions: a key is in the slot that its hash selects, or it is not known.
struct KeyTable {
    /// Read it once for each payload: each access to a lazily initialised global costs a call.
    static let known = KeyTable()

    private static let slotCount = 128
    private static let longest = 24

    private struct Entry {
        /// No key has this length.
        static let free = Entry(words: Words(), key: RootKey(slot: RootKey.count))
        let words: Words
        let key: RootKey
    }

    private let slots: [Entry]
    /// The bit of each key, by its slot in ``RootMembers``.
    private let bits: [UInt64]

    private init() {
        var named: [(name: String, key: RootKey)] = [(NetworkKeys.aps, .aps), (NetworkKeys.stamp, .stamp)]
        for field in KiiField.allCases {
            named.append((field.longName, .long(field)))
            if field != .sourceURI, field != .senderURI { named.append((field.shortName, .short(field))) }
        }
        var slots = [Entry](repeating: .free, count: Self.slotCount)
        var bits = [UInt64](repeating: 0, count: RootKey.count)
        for (name, key) in named {
            // A longer one would not fit into three words, and never be found.
            precondition(name.utf8.count <= Self.longest)
            let words = Words(name.utf8.span, 0..<name.utf8.count)
            let slot = Self.slot(words.first ^ words.last &<< 1)
            // Another key needs another factor: try odd ones until there is no collision; about one in three hundred
            // works.
            precondition(slots[slot].key.slot == RootKey.count, "two known keys meet in one slot")
            slots[slot] = Entry(words: words, key: key)
            bits[key.slot] = KeyBits.bit(name.utf8.span, 0..<name.utf8.count)
        }
        (self.slots, self.bits) = (slots, bits)
    }

    func bits(ofSlots used: UInt64) -> UInt64 {
        var (left, bits) = (used, UInt64(0))
        while left != 0 {
            bits |= self.bits[left.trailingZeroBitCount]
            left &= left &- 1
        }
        return bits
    }

    /// The key of one to seven bytes in `word`, none of them zero.
    @inline(__always)
    func find(_ word: UInt64) -> RootKey? {
        // No longer key begins with such a word, and no free slot has it, so one comparison is enough.
        let entry = slots[Self.slot(word)]
        return entry.words.first == word ? entry.key : nil
    }

    @inline(never)
    func find(_ text: Span<UInt8>, _ range: Range<Int>) -> RootKey? {
        guard range.count <= Self.longest else { return nil }
        let words = Words(text, range)
        let entry = slots[Self.slot(words.first ^ words.last &<< 1)]
        return entry.words == words ? entry.key : nil
    }

    /// The top seven bits of a product, which depend on all bytes of the word.
    @inline(__always)
    private static func slot(_ word: UInt64) -> Int {
        Int(truncatingIfNeeded: (word &* 0x7EFB_AACA_B375_3DD1) &>> 57)
    }

    /// The bytes of a key: up to eight in `first`, the last eight of a longer one, and those between.
    private struct Words: Equatable {
        let first: UInt64
        let last: UInt64
        let middle: UInt64
        let length: Int

        init() { (first, last, middle, length) = (0, 0, 0, -1) }

        init(_ text: Span<UInt8>, _ range: Range<Int>) {
            length = range.count
            first = text.word(at: range.lowerBound, length: length)
            last = length > 8 ? text.word(at: range.upperBound &- 8) : 0
            middle = length > 16 ? text.word(at: range.lowerBound &+ 8) : 0
        }
    }
}
