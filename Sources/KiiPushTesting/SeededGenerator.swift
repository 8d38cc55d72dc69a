import KiiPush

/// A random number generator that produces the same numbers for the same seed, on every machine.
///
/// The algorithm is SplitMix64: fast, and unsuitable for secrets.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var source: SplitMix

    /// Makes a generator; different seeds give different numbers.
    public init(seed: UInt64) { source = SplitMix(seed: seed) }

    /// The next 64 bits.
    public mutating func next() -> UInt64 { source.next() }
}
