/// An exact text that a route asks for, with the part of the message that must have it.
struct FiledText: Hashable {
    enum Field: UInt8, CaseIterable {
        case bucket
        case object
        case topic
        case scopeID
        case sender

        static let count = 5

        /// Where a message has this text.
        @inline(__always)
        func token(_ reading: Reading) -> JSONToken {
            switch self {
            case .bucket: reading.bucket
            case .object: reading.object
            case .topic: reading.topic
            case .scopeID: reading.scopeID
            case .sender: reading.sender
            }
        }
    }

    let field: Field
    let text: String

    /// Compares bytes, as the lookup does: one letter written in two ways of Unicode is two texts.
    static func == (left: FiledText, right: FiledText) -> Bool {
        left.field == right.field && left.text.utf8.elementsEqual(right.text.utf8)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(field)
        for byte in text.utf8 { hasher.combine(byte) }
    }

    /// For each part of which a route asks for exact texts: those texts, one of which a message must have.
    static func all(of criteria: RouteCriteria) -> [[FiledText]] {
        let texts: [(Field, [String]?)] = [
            (.object, criteria.object?.exactTexts), (.scopeID, criteria.scope?.exactIDs),
            (.scopeID, criteria.scopeID?.exactTexts),
            (.bucket, criteria.bucket?.exactTexts), (.topic, criteria.topic?.exactTexts),
            (.sender, criteria.sender?.exactIDs),
        ]
        return texts.compactMap { field, texts in texts.map { $0.map { FiledText(field: field, text: $0) } } }
    }
}

/// A hash table from exact texts to route numbers, looked up with positions in a payload instead of strings.
///
/// Its keys are the receiver's own, so no payload can make it slow: a foreign text only meets what happens to lie in
/// its place.
struct TextIndex: Sendable {
    private struct Entry: Sendable {
        let hash: UInt64
        let field: FiledText.Field
        let text: Range<Int>
        let postings: Range<Int>
    }

    /// The numbers of the routes of all texts, each text's in order of declaration.
    let routeNumbers: [Int32]
    private let texts: [UInt8]
    private let entries: [Entry]
    /// Entry numbers by hash, open addressing, at most half full; -1 is free.
    private let slots: [Int32]
    private let isUsed: InlineArray<5, Bool>

    init(_ filed: [FiledText: [Int32]]) {
        var routeNumbers: [Int32] = []
        var texts: [UInt8] = []
        var entries: [Entry] = []
        var isUsed = InlineArray<5, Bool>(repeating: false)
        var capacity = 2
        while capacity < filed.count * 2 { capacity *= 2 }
        var slots = [Int32](repeating: -1, count: capacity)
        for (key, numbers) in filed {
            let bytes = Array(key.text.utf8)
            let hash = Self.hash(key.field, bytes.span, 0..<bytes.count)
            var slot = Int(truncatingIfNeeded: hash) & (capacity - 1)
            while slots[slot] >= 0 { slot = (slot + 1) & (capacity - 1) }
            slots[slot] = Int32(entries.count)
            entries.append(
                Entry(
                    hash: hash, field: key.field, text: texts.count..<(texts.count + bytes.count),
                    postings: routeNumbers.count..<(routeNumbers.count + numbers.count)))
            texts += bytes
            routeNumbers += numbers
            isUsed[Int(key.field.rawValue)] = true
        }
        self.routeNumbers = routeNumbers
        self.texts = texts
        self.entries = entries
        self.slots = slots
        self.isUsed = isUsed
    }

    /// For each part of a message: where in `routeNumbers` the routes stand that ask for its text.
    @inline(__always)
    func postings(_ text: Span<UInt8>, _ storage: MessageStorage) -> InlineArray<5, Range<Int>> {
        var found = InlineArray<5, Range<Int>>(repeating: 0..<0)
        for number in 0..<FiledText.Field.count where isUsed.span[number] {
            guard let field = FiledText.Field(rawValue: UInt8(number)) else { continue }
            let token = field.token(storage.reading)
            if token.isPresent { found[number] = find(field, text, token.range) }
        }
        return found
    }

    private func find(_ field: FiledText.Field, _ text: Span<UInt8>, _ range: Range<Int>) -> Range<Int> {
        let hash = Self.hash(field, text, range)
        var slot = Int(truncatingIfNeeded: hash) & (slots.count - 1)
        while slots[slot] >= 0 {
            let entry = entries[Int(slots[slot])]
            if entry.hash == hash, entry.field == field, text.matches(range, in: texts.span, entry.text) {
                return entry.postings
            }
            slot = (slot + 1) & (slots.count - 1)
        }
        return 0..<0
    }

    private static func hash(_ field: FiledText.Field, _ text: Span<UInt8>, _ range: Range<Int>) -> UInt64 {
        var hash = UInt64(range.count) &<< 8 | UInt64(field.rawValue)
        var offset = range.lowerBound
        while offset < range.upperBound {
            hash = (hash ^ text.word(at: offset, length: min(range.upperBound &- offset, 8))) &* 0x9E37_79B9_7F4A_7C15
            hash ^= hash &>> 29
            offset &+= 8
        }
        return hash ^ hash &>> 32
    }
}
