/// An exact text that a route requires, and the part of the message that must equal it.
package struct FiledText: Hashable {
    package enum Field: UInt8, CaseIterable {
        case bucket
        case object
        case topic
        case scopeID
        case sender

        package func token(_ storage: MessageStorage) -> JSONToken {
            switch self {
            case .bucket: storage.classified.bucket
            case .object: storage.classified.object
            case .topic: storage.classified.topic
            case .scopeID: storage.classified.scopeID
            case .sender: storage.classified.sender
            }
        }
    }

    package let field: Field
    package let text: ExactText

    /// For each part with exact texts in a route: those texts, one of which a message must have.
    package static func all(of criteria: RouteCriteria) -> [[FiledText]] {
        let texts: [(Field, [String]?)] = [
            (.object, criteria.object?.exactTexts), (.scopeID, criteria.scope?.exactIDs),
            (.scopeID, criteria.scopeID?.exactTexts),
            (.bucket, criteria.bucket?.exactTexts), (.topic, criteria.topic?.exactTexts),
            (.sender, criteria.sender?.exactIDs),
        ]
        return texts.compactMap { field, texts in
            texts?.map { FiledText(field: field, text: ExactText($0)) }
        }
    }
}

/// A hash table from the routes' own texts to their numbers, looked up with positions in a payload instead of strings.
package struct TextIndex: Sendable {
    private struct Entry: Sendable {
        let hash: UInt64
        let text: Range<UInt32>
        let postings: Range<UInt32>
        let field: FiledText.Field
    }

    /// The numbers of the routes of all texts, each text's in order of declaration.
    package let routeNumbers: [Int32]
    /// The ranges in `routeNumbers` of the routes without an exact text, by kind, and of those for gaps.
    private let unfiled: [Range<UInt32>]
    private let texts: [UInt8]
    /// Entries by hash, open addressing, at most half full; one without postings is free.
    private let slots: [Entry]
    private let usedFields: [FiledText.Field]

    package init(_ filed: [FiledText: [Int32]], unfiled: [[Int32]]) {
        var routeNumbers: [Int32] = []
        func add(_ numbers: [Int32]) -> Range<UInt32> {
            let start = UInt32(routeNumbers.count)
            routeNumbers += numbers
            return start..<UInt32(routeNumbers.count)
        }
        var texts: [UInt8] = []
        var capacity = 2
        while capacity < filed.count * 2 { capacity *= 2 }
        let free = Entry(hash: 0, text: 0..<0, postings: 0..<0, field: .bucket)
        var slots = [Entry](repeating: free, count: capacity)
        for (key, numbers) in filed {
            let start = UInt32(texts.count)
            texts += key.text.text.utf8
            let text = start..<UInt32(texts.count)
            let hash = Self.hash(key.field, texts.span, Int(text.lowerBound)..<Int(text.upperBound))
            var slot = Int(truncatingIfNeeded: hash) & (capacity - 1)
            while !slots[slot].postings.isEmpty { slot = (slot + 1) & (capacity - 1) }
            slots[slot] = Entry(hash: hash, text: text, postings: add(numbers), field: key.field)
        }
        self.unfiled = unfiled.map(add)
        self.routeNumbers = routeNumbers
        self.texts = texts
        self.slots = slots
        usedFields = FiledText.Field.allCases.filter { field in filed.keys.contains { $0.field == field } }
    }

    package func candidates(_ text: Span<UInt8>, _ storage: MessageStorage) -> PostingLists {
        var lists = PostingLists()
        lists.append(unfiled[storage.isGap ? unfiled.count - 1 : storage.classified.kind.tableIndex])
        for index in usedFields.indices {
            let token = usedFields[index].token(storage)
            if token.isPresent { lists.append(find(usedFields[index], text, token.range)) }
        }
        return lists
    }

    private func find(_ field: FiledText.Field, _ text: Span<UInt8>, _ range: Range<Int>) -> Range<UInt32> {
        let hash = Self.hash(field, text, range)
        var slot = Int(truncatingIfNeeded: hash) & (slots.count &- 1)
        while !slots[slot].postings.isEmpty {
            let entry = slots[slot]
            let found = Int(entry.text.lowerBound)..<Int(entry.text.upperBound)
            if entry.hash == hash, entry.field == field, text.matches(range, in: texts.span, found) {
                return entry.postings
            }
            slot = (slot &+ 1) & (slots.count &- 1)
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

/// The routes that could match a message, as ranges of route numbers: those of each of its texts, and those without.
package struct PostingLists {
    private var lists = InlineArray<6, Range<UInt32>>(repeating: 0..<0)
    private var count = 0

    package mutating func append(_ list: Range<UInt32>) {
        if list.isEmpty { return }
        lists[count] = list
        count &+= 1
    }

    /// Removes the smallest number that is left; all lists are in order of declaration.
    package mutating func popFirst(of numbers: [Int32]) -> Int? {
        var (smallest, from) = (Int32.max, 0)
        for index in 0..<count {
            guard let place = lists.span[index].first, numbers[Int(place)] < smallest else { continue }
            (smallest, from) = (numbers[Int(place)], index)
        }
        guard smallest != .max else { return nil }
        lists[from] = lists.span[from].dropFirst()
        return Int(smallest)
    }
}
