/// Detects duplicate root keys: it records unknown keys, and is notified of duplicates among known ones.
///
/// The first few are compared with each other as they are read, which is enough for most payloads. If there are more,
/// or one has escapes, they are put into a hash table at the end. The hash is keyed, so that a sender cannot choose
/// keys that collide.
struct DuplicateKeyCheck {
    private static let fewest = 16

    private var few = InlineArray<16, JSONToken>(repeating: .absent)
    private var count = 0
    /// The keys after the first few.
    private var more: [JSONToken] = []
    private var haveEscapes = false
    /// The first duplicate found among the known keys and the first few.
    private var repeated: JSONToken?

    /// Records the next unknown key.
    mutating func note(_ key: JSONToken, _ text: Span<UInt8>) {
        if key.hasEscapes { haveEscapes = true }
        guard count < Self.fewest else {
            more.append(key)
            return
        }
        for index in 0..<count where text.matches(key.range, in: text, few[index].range) {
            noteRepeated(key)
        }
        few[count] = key
        count &+= 1
    }

    /// Records a duplicate.
    mutating func noteRepeated(_ key: JSONToken) { repeated = repeated ?? key }

    /// The first key of the payload that equals an earlier one, with or without escapes.
    // It does not mutate; a non-mutating method would be called with a copy of the whole.
    mutating func firstDuplicate(_ text: Span<UInt8>) -> JSONToken? {
        if more.isEmpty && !haveEscapes { return repeated }
        guard let hashed = duplicateByHash(text) else { return repeated }
        guard let repeated else { return hashed }
        return repeated.start < hashed.start ? repeated : hashed
    }

    private func duplicateByHash(_ text: Span<UInt8>) -> JSONToken? {
        var keys = (0..<count).map { few[$0] }
        keys += more
        var capacity = 32
        while capacity < keys.count * 2 { capacity *= 2 }
        /// Key numbers by hash, open addressing, at most half full; -1 is free.
        var slots = [Int32](repeating: -1, count: capacity)
        var hashes: [UInt64] = []
        hashes.reserveCapacity(keys.count)
        for (number, key) in keys.enumerated() {
            let hash = key.keyedHash(in: text)
            var slot = Int(truncatingIfNeeded: hash) & (capacity - 1)
            while slots[slot] >= 0 {
                let other = Int(slots[slot])
                if hashes[other] == hash, keys[other].spells(key, in: text) { return key }
                slot = (slot + 1) & (capacity - 1)
            }
            slots[slot] = Int32(number)
            hashes.append(hash)
        }
        return nil
    }
}

extension JSONToken {
    fileprivate func keyedHash(in text: Span<UInt8>) -> UInt64 {
        var digest = KeyedDigest(.ofProcess)
        if hasEscapes {
            let bytes = JSONString.unescaped(text, range)
            digest.add(0, bytes.span, 0..<bytes.count)
        } else {
            digest.add(0, text, range)
        }
        return digest.finish().first
    }

    /// Whether two keys are the same text, with or without escapes.
    fileprivate func spells(_ other: JSONToken, in text: Span<UInt8>) -> Bool {
        if !hasEscapes { return other.matches(text.extracting(range), in: text) }
        let bytes = JSONString.unescaped(text, range)
        return other.matches(bytes.span, in: text)
    }
}
