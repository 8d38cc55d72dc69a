/// Which of the keys we know a root key is: fifteen short ones, seventeen long ones, and `aps`.
///
/// Both styles are recognised while the payload is read, since what decides between them may come last.
struct RootKey {
    /// The number of keys we know, and of slots that hold their values.
    static let count = 33

    /// The key's slot: the short fields, then the long ones, then `aps`.
    let slot: Int

    static func short(_ field: KiiField) -> RootKey { RootKey(slot: Int(field.rawValue)) }
    static func long(_ field: KiiField) -> RootKey { RootKey(slot: 15 + Int(field.rawValue)) }
    static let aps = RootKey(slot: 32)

    /// Whether a sender's own data may use this key in a payload of `dialect`.
    func isData(in dialect: Dialect) -> Bool {
        // `aps` and the two URIs are nobody's data.
        if slot >= 30 { return false }
        return !dialect.hasKiiKeys || (slot >= 15) == dialect.hasShortKeys
    }

    /// The key that `range` spells, if we know it.
    @inline(__always)
    static func find(_ text: Span<UInt8>, _ range: Range<Int>) -> RootKey? {
        guard range.count < KeyTable.known.starts.count - 1 else { return nil }
        return KeyTable.known.find(text, range)
    }
}

/// The known keys ordered by length, each as three words that hold all of its bytes.
///
/// Comparing words beats hashing here: no length has more than ten keys, and a word settles nearly every one.
private struct KeyTable {
    struct Entry {
        let first: UInt64
        let last: UInt64
        let middle: UInt64
        let key: RootKey
    }

    static let known = KeyTable()

    let entries: [Entry]
    /// Where the entries of each length begin, and behind them where those of the longest length end.
    let starts: [Int]

    init() {
        var named: [(name: String, key: RootKey)] = [(ShortKeys.aps, .aps)]
        for field in KiiField.allCases {
            named.append((field.longName, .long(field)))
            if field != .sourceURI, field != .senderURI { named.append((field.shortName, .short(field))) }
        }
        let longest = named.map(\.name.utf8.count).max() ?? 0
        var entries: [Entry] = []
        var starts: [Int] = []
        for length in 0...longest {
            starts.append(entries.count)
            for (name, key) in named where name.utf8.count == length {
                entries.append(Self.entry(name.utf8.span, 0..<length, key))
            }
        }
        starts.append(entries.count)
        self.entries = entries
        self.starts = starts
    }

    @inline(__always)
    static func entry(_ text: Span<UInt8>, _ range: Range<Int>, _ key: RootKey) -> Entry {
        let start = range.lowerBound
        let length = range.count
        return Entry(
            first: text.word(at: start, length: min(length, 8)),
            last: length > 8 ? text.word(at: range.upperBound &- 8) : 0,
            middle: length > 16 ? text.word(at: start &+ 8) : 0, key: key)
    }

    @inline(__always)
    func find(_ text: Span<UInt8>, _ range: Range<Int>) -> RootKey? {
        let wanted = Self.entry(text, range, .aps)
        for index in starts[range.count]..<starts[range.count &+ 1] {
            let entry = entries[index]
            if entry.first == wanted.first, entry.last == wanted.last, entry.middle == wanted.middle { return entry.key }
        }
        return nil
    }
}
