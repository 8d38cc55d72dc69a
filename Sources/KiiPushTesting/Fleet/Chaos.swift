import KiiPush

/// The faults of a simulated network and of clocks: every property is a fraction or a time.
///
/// The fleet's seed determines all of it, so a failing run can be repeated.
public struct Chaos: Sendable, Hashable {
    /// The delay of a delivery, in whole milliseconds; a range wider than the time between two messages reorders them.
    public var delay: ClosedRange<Duration>

    /// The fraction of deliveries that never arrive.
    public var loss: Double

    /// The fraction of deliveries that arrive twice; every other copy uses the other key style, as over a second
    /// transport.
    public var duplication: Double

    /// The fraction of deliveries after which all clocks jump forward, as when a device wakes: everything that was due
    /// in between arrives at once.
    public var jumps: Double

    /// How far a clock jumps, in whole milliseconds.
    public var jump: ClosedRange<Duration>

    /// The fraction of a device's writes that throw and do not happen.
    public var failedWrites: Double

    /// A fast network without losses or duplicates: 50 to 350 milliseconds.
    public static let none = Chaos()

    /// 50 milliseconds to 2 seconds; 2 % lost, 10 % duplicated, 1 % of writes failed, and occasional jumps of 1 to 8 s.
    public static let rough = Chaos(
        delay: .milliseconds(50) ... .seconds(2), loss: 0.02, duplication: 0.1, jumps: 0.0005,
        jump: .seconds(1) ... .seconds(8), failedWrites: 0.01)

    /// Sets the numbers; a fraction outside 0…1 is clamped.
    public init(
        delay: ClosedRange<Duration> = .milliseconds(50) ... .milliseconds(350), loss: Double = 0,
        duplication: Double = 0, jumps: Double = 0, jump: ClosedRange<Duration> = .seconds(1) ... .seconds(30),
        failedWrites: Double = 0
    ) {
        self.delay = delay
        self.loss = loss
        self.duplication = duplication
        self.jumps = jumps
        self.jump = jump
        self.failedWrites = failedWrites
    }
}

extension SeededGenerator {
    /// True for this fraction of the calls; draws no number if the result is certain.
    mutating func happens(_ fraction: Double) -> Bool {
        guard fraction > 0 else { return false }
        return Double(next() >> 11) < fraction * Double(1 << 53)
    }

    /// A whole number of milliseconds in a range.
    mutating func milliseconds(in range: ClosedRange<Duration>) -> Int64 {
        let (low, high) = (range.lowerBound.inMilliseconds, range.upperBound.inMilliseconds)
        return low + Int64(next() % UInt64(max(high - low, 0) + 1))
    }
}

extension Duration {
    /// The duration in whole milliseconds, rounded down; never negative.
    var inMilliseconds: Int64 { max(0, Int64(clamping: attoseconds / 1_000_000_000_000_000)) }
}
