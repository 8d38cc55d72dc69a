/// What a simulated network does to messages on their way, and to the clock: every number a fraction or a time.
///
/// All of it follows from the fleet's seed, so a run that fails fails again.
public struct Chaos: Sendable, Hashable {
    /// How long a message is on its way, in whole milliseconds; a range wider than the time between two messages
    /// brings them out of order.
    public var delay: ClosedRange<Duration>

    /// The fraction of deliveries that never arrive.
    public var loss: Double

    /// The fraction of deliveries that arrive twice; every other copy comes with the other key style, as over a second
    /// transport.
    public var duplication: Double

    /// The fraction of deliveries after which all clocks jump forward, as when a device wakes: what should have arrived
    /// meanwhile arrives at once.
    public var jumps: Double

    /// How far a clock jumps, in whole milliseconds.
    public var jump: ClosedRange<Duration>

    /// The fraction of a device's writes that throw ``SimulatedCloud/Unreachable`` and do not happen.
    public var failedWrites: Double

    /// A quick network that loses nothing and repeats nothing: 50 to 350 milliseconds.
    public static let none = Chaos()

    /// 50 milliseconds to 2 seconds; 2 % lost, 10 % twice, 1 % of writes failed, and now and then a jump of 1 to 8 s.
    public static let rough = Chaos(
        delay: .milliseconds(50) ... .seconds(2), loss: 0.02, duplication: 0.1, jumps: 0.0005,
        jump: .seconds(1) ... .seconds(8), failedWrites: 0.01)

    /// Sets the numbers; a fraction outside 0…1 counts as the nearer end.
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
    /// True for so large a fraction of the calls; draws no number when the answer is known.
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
