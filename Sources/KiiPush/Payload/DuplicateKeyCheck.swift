/// Detects duplicate root keys: it records unknown keys, and is notified of duplicates among known ones.
///
/// The first few are compared with each other as they are read, which is enough for most payloads. If there are more,
/// or one has escapes, their digests are put into a set at the end. The digests are keyed, so that a sender cannot
/// choose keys that collide.
struct DuplicateKeyCheck {
    private static let fewest = 16

    private var few = InlineArray<16, JSONToken>(repeating: .absent)
    private var count = 0
    private var more: [JSONToken] = []
    private var haveEscapes = false
    /// The first duplicate found among the known keys and the first few.
    private var repeated: JSONToken?

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

    mutating func noteRepeated(_ key: JSONToken) { repeated = repeated ?? key }

    /// The first key of the payload that equals an earlier one, with or without escapes.
    // It does not mutate; a non-mutating method would be called with a copy of the whole.
    mutating func firstDuplicate(_ text: Span<UInt8>) -> JSONToken? {
        if more.isEmpty && !haveEscapes { return repeated }
        guard let found = duplicateByDigest(text) else { return repeated }
        guard let repeated else { return found }
        return repeated.start < found.start ? repeated : found
    }

    private func duplicateByDigest(_ text: Span<UInt8>) -> JSONToken? {
        var seen = Set<DedupeKey>(minimumCapacity: count + more.count)
        for index in 0..<(count + more.count) {
            let key = index < count ? few[index] : more[index - count]
            var digest = KeyedDigest(.ofProcess)
            digest.add(.key, text, string: key)
            if !seen.insert(digest.finish()).inserted { return key }
        }
        return nil
    }
}
