/// A keyed 128-bit digest: SipHash-1-3 with its 128-bit output, over whole words.
///
/// It is keyed, because with a digest that anyone can compute a sender could make two messages that count as one, and
/// so suppress the second. Each part is added as a word with its length and meaning, then its bytes, so that different
/// lists of parts give different input.
struct KeyedDigest {
    private var v0: UInt64
    private var v1: UInt64
    private var v2: UInt64
    private var v3: UInt64

    init(_ secret: DedupeSecret) {
        v0 = secret.first ^ 0x736f_6d65_7073_6575
        v1 = secret.second ^ 0x646f_7261_6e64_6f6d ^ 0xEE
        v2 = secret.first ^ 0x6c79_6765_6e65_7261
        v3 = secret.second ^ 0x7465_6462_7974_6573
    }

    @inline(__always)
    private mutating func round() {
        v0 &+= v1
        v1 = v1 &<< 13 | v1 &>> 51
        v1 ^= v0
        v0 = v0 &<< 32 | v0 &>> 32
        v2 &+= v3
        v3 = v3 &<< 16 | v3 &>> 48
        v3 ^= v2
        v0 &+= v3
        v3 = v3 &<< 21 | v3 &>> 43
        v3 ^= v0
        v2 &+= v1
        v1 = v1 &<< 17 | v1 &>> 47
        v1 ^= v2
        v2 = v2 &<< 32 | v2 &>> 32
    }

    @inline(__always)
    mutating func add(_ word: UInt64) {
        v3 ^= word
        round()
        v0 ^= word
    }

    // Not inlined: a key has seven parts, and seven copies of this loop are slower than seven calls.
    @inline(never)
    mutating func add(_ meaning: UInt8, _ text: Span<UInt8>, _ range: Range<Int>) {
        add(UInt64(meaning) &<< 56 | UInt64(truncatingIfNeeded: range.count))
        let bytes = text.extracting(range)
        var offset = 0
        while offset &+ 8 <= bytes.count {
            add(bytes.word(at: offset))
            offset &+= 8
        }
        let left = bytes.count &- offset
        if left > 0 { add(text.word(at: range.upperBound &- left, length: left)) }
    }

    mutating func add(_ meaning: UInt8, _ text: String) { add(meaning, text.utf8.span, 0..<text.utf8.count) }

    consuming func finish() -> DedupeKey {
        let first = finishHalf()
        v1 ^= 0xDD
        round()
        round()
        round()
        return DedupeKey(first: first, second: v0 ^ v1 ^ v2 ^ v3)
    }

    /// The first half of the digest, in half the rounds.
    var half: UInt64 {
        var copy = self
        return copy.finishHalf()
    }

    @inline(__always)
    private mutating func finishHalf() -> UInt64 {
        v2 ^= 0xEE
        round()
        round()
        round()
        return v0 ^ v1 ^ v2 ^ v3
    }
}

/// The secret of a receiver's deduplication keys.
public struct DedupeSecret: Sendable, Hashable {
    let first: UInt64
    let second: UInt64

    /// Makes a secret of two words, for a store that outlives the process.
    public init(_ first: UInt64, _ second: UInt64) {
        self.first = first
        self.second = second
    }

    /// A new secret from the system's entropy, for the life of the process.
    public static func random() -> DedupeSecret {
        var source = SystemRandomNumberGenerator()
        return DedupeSecret(source.next(), source.next())
    }

    /// The secret of keys that do not outlive the process; shared, so that a message's resource is digested once.
    static let ofProcess = random()

    /// A public secret, so that keys are comparable between runs; for reports, never for a receiver.
    public static let published = DedupeSecret(0x6B69_6970_7573_6801, 0x6B69_6970_7573_6802)
}

extension DedupeSecret: CustomStringConvertible, CustomReflectable {
    /// A text without its bits, so that nobody can make keys from a log.
    public var description: String { "a secret" }

    /// No children, so that `dump` and `print` of a value with a secret do not show its bits.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
