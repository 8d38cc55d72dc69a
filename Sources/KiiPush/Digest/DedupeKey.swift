/// What equal messages have in common: 128 bits; for deduplication, under the receiver's secret.
public struct DedupeKey: Sendable, Hashable, CustomStringConvertible {
    /// The first half of its bits, for a store to write.
    public let first: UInt64
    /// The second half of its bits.
    public let second: UInt64

    /// Makes a key from its bits, as a store reads them back.
    public init(first: UInt64, second: UInt64) {
        self.first = first
        self.second = second
    }

    /// The key as 32 hexadecimal digits.
    public var description: String { first.digits(16, radix: 16) + second.digits(16, radix: 16) }

    /// Hashes half of the key, which is as good as random already.
    public func hash(into hasher: inout Hasher) { hasher.combine(first) }
}

/// The keys of one message, and their strength.
public struct DedupeKeys: Sendable, Hashable {
    /// What an equal key proves.
    public enum Strength: String, Sendable, Hashable {
        /// An equal key means the same message, over any transport; it is dropped within ``SeenWindow/age``.
        case strong
        /// An equal key means the same bytes; two legitimate messages may have them, so it counts only for messages
        /// that arrived within ``SeenWindow/weakAge``.
        case weak
    }

    /// The key; if there are two, the one with the time of the push.
    public let primary: DedupeKey

    /// The more exact key, with the time of modification, which not every transport states.
    public let secondary: DedupeKey?

    /// What an equal key proves.
    public let strength: Strength

    /// Makes keys, as a store reads them back.
    public init(primary: DedupeKey, secondary: DedupeKey? = nil, strength: Strength) {
        self.primary = primary
        self.secondary = secondary
        self.strength = strength
    }

    /// Whether two messages with these keys are the same, by their keys.
    ///
    /// If both have a second key, it alone decides: two changes of one object that were pushed in the same millisecond
    /// are different. If one has none, like every message from APNs, any common key is enough.
    public func isSameMessage(as other: DedupeKeys) -> Bool {
        guard strength == other.strength else { return false }
        if let mine = secondary, let theirs = other.secondary { return mine == theirs }
        return primary == other.primary || primary == other.secondary || secondary == other.primary
    }
}
