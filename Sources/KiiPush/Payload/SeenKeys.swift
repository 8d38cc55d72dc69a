/// The keys of an object so far, to find duplicates as it is read.
///
/// The first few are compared with each other, which is enough for most objects. If there are more, or one has escapes,
/// the digests of all are in a set. They are keyed, so that a sender cannot choose keys that collide.
struct SeenKeys {
    private static let fewest = 16

    private var few = InlineArray<16, JSONToken>(repeating: .absent)
    private var count = 0
    private var digests: Set<DedupeKey> = []

    /// Adds a key; returns whether it is new.
    mutating func insert(_ key: JSONToken, _ text: Span<UInt8>) -> Bool {
        guard count < Self.fewest, !key.hasEscapes else { return insertDigest(key, text) }
        for index in 0..<count where text.matches(key.range, in: text, few[index].range) { return false }
        few[count] = key
        count &+= 1
        return true
    }

    private mutating func insertDigest(_ key: JSONToken, _ text: Span<UInt8>) -> Bool {
        if digests.isEmpty {
            digests.reserveCapacity(4 * Self.fewest)
            for index in 0..<count { digests.insert(Self.digest(few[index], text)) }
            // So that all further keys come here.
            count = Self.fewest
        }
        return digests.insert(Self.digest(key, text)).inserted
    }

    private static func digest(_ key: JSONToken, _ text: Span<UInt8>) -> DedupeKey {
        var digest = KeyedDigest(.ofProcess)
        digest.add(.key, text, string: key)
        return digest.finish()
    }
}
