/// What makes two messages the same one: 128 bits under the receiver's secret.
public struct DedupeKey: Sendable, Hashable, CustomStringConvertible {
    /// The first half of its bits; stores write it down.
    public let first: UInt64
    /// The second half of its bits.
    public let second: UInt64

    /// Makes a key from its bits, as a store reads them back.
    public init(first: UInt64, second: UInt64) {
        self.first = first
        self.second = second
    }

    /// The key as 32 hexadecimal digits.
    public var description: String {
        [first, second].map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// Hashes half of the key, which is as good as random already.
    public func hash(into hasher: inout Hasher) { hasher.combine(first) }
}

/// The keys of one message, and how much they prove.
public struct DedupeKeys: Sendable, Hashable {
    /// How much an equal key proves.
    public enum Strength: String, Sendable, Hashable {
        /// An equal key means the same message, over whatever transport.
        case strong
        /// An equal key means the same bytes; two honest messages may have them, so it counts only for messages that
        /// arrived shortly after one another.
        case weak
    }

    /// The key; the one with the time of the push, where there are two.
    public let primary: DedupeKey

    /// The more exact key, with the time of the modification, which not every transport has.
    public let secondary: DedupeKey?

    /// How much an equal key proves.
    public let strength: Strength

    /// Names a message by keys that exist already, as a store reads them back.
    ///
    /// To name messages in another way, give the deduplicator a ``DedupeKeyMaker``.
    ///
    /// - Parameters:
    ///   - primary: the key.
    ///   - secondary: another key by which the message is known too.
    ///   - strength: how much an equal key proves.
    public init(primary: DedupeKey, secondary: DedupeKey? = nil, strength: Strength) {
        self.primary = primary
        self.secondary = secondary
        self.strength = strength
    }

    /// Whether two messages with these keys are the same one, as far as keys tell.
    ///
    /// Where both have a second key, it decides alone: two changes of one object that were pushed in the same
    /// millisecond are two. Where one of them has none, as every message from APNs, any common key is enough.
    @inline(__always)
    public func isSameMessage(as other: DedupeKeys) -> Bool {
        guard strength == other.strength else { return false }
        if let mine = secondary, let theirs = other.secondary { return mine == theirs }
        return primary == other.primary || primary == other.secondary || secondary == other.primary
    }
}
