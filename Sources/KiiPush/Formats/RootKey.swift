/// Which of the keys we know a root key is: fifteen short ones, seventeen long ones, `aps` and the
/// stamp.
///
/// Both styles are recognised while the payload is read, since what decides between them may come last.
struct RootKey {
    /// The number of keys we know, and of slots that hold their values.
    static let count = 34

    /// The key's slot: the short fields, then the long ones, then `aps`, then the stamp.
    let slot: Int

    static func short(_ field: KiiField) -> RootKey { RootKey(slot: Int(field.rawValue)) }
    static func long(_ field: KiiField) -> RootKey { RootKey(slot: 15 + Int(field.rawValue)) }
    static let aps = RootKey(slot: 32)
    static let stamp = RootKey(slot: 33)

    /// The slot of the key under which the field of a raw value stands in a payload of `dialect`; the URIs have but
    /// one.
    @inline(__always)
    static func slot(ofField number: Int, in dialect: Dialect) -> Int {
        dialect.hasShortKeys && number < 15 ? number : 15 &+ number
    }

    /// Whether a sender's own data may use this key in a payload of `dialect`.
    func isData(in dialect: Dialect) -> Bool {
        // `aps`, the stamp and the two URIs are nobody's data.
        if slot >= 30 { return false }
        return !dialect.hasKiiKeys || (slot >= 15) == dialect.hasShortKeys
    }

    /// The key that `range` spells, if we know it.
    static func find(_ text: Span<UInt8>, _ range: Range<Int>) -> RootKey? { KeyTable.known.find(text, range) }
}

/// The known keys, in a hash table where no two keys meet: a key lies in the slot that its words are multiplied into,
/// or it is not known.
struct KeyTable {
    /// Take it out once a payload: reading a global that is made at its first use costs a call each time.
    static let known = KeyTable()

    private static let slotCount = 128
    private static let longest = 24

    private struct Entry {
        /// No key is as long as this one's words say.
        static let free = Entry(words: Words(), key: RootKey(slot: RootKey.count))
        let words: Words
        let key: RootKey
    }

    private let slots: [Entry]

    private init() {
        var named: [(name: String, key: RootKey)] = [(ShortKeys.aps, .aps), (NetworkKeys.stamp, .stamp)]
        for field in KiiField.allCases {
            named.append((field.longName, .long(field)))
            if field != .sourceURI, field != .senderURI { named.append((field.shortName, .short(field))) }
        }
        var slots = [Entry](repeating: .free, count: Self.slotCount)
        for (name, key) in named {
            // Or it would not fit into three words, and never be found.
            precondition(name.utf8.count <= Self.longest)
            let words = Words(name.utf8.span, 0..<name.utf8.count)
            let slot = Self.slot(words.first ^ words.last &<< 1)
            // Another key needs another factor: try odd ones until no two keys meet; about one in three hundred does.
            precondition(slots[slot].key.slot == RootKey.count, "two known keys meet in one slot")
            slots[slot] = Entry(words: words, key: key)
        }
        self.slots = slots
    }

    /// The key whose bytes `word` holds, one to seven, none of them zero.
    @inline(__always)
    func find(_ word: UInt64) -> RootKey? {
        // No longer key begins with such a word, nor has a free slot one: it takes no more than a comparison.
        let entry = slots[Self.slot(word)]
        return entry.words.first == word ? entry.key : nil
    }

    /// The key that `range` spells.
    @inline(never)
    func find(_ text: Span<UInt8>, _ range: Range<Int>) -> RootKey? {
        guard range.count <= Self.longest else { return nil }
        let words = Words(text, range)
        let entry = slots[Self.slot(words.first ^ words.last &<< 1)]
        return entry.words == words ? entry.key : nil
    }

    /// The top seven bits of a product that all bytes of a word take part in.
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

        /// Those of no key.
        init() { (first, last, middle, length) = (0, 0, 0, -1) }

        init(_ text: Span<UInt8>, _ range: Range<Int>) {
            length = range.count
            first = text.word(at: range.lowerBound, length: length)
            last = length > 8 ? text.word(at: range.upperBound &- 8) : 0
            middle = length > 16 ? text.word(at: range.lowerBound &+ 8) : 0
        }
    }
}
