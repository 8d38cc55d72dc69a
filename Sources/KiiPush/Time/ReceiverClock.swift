/// A moment on a clock that never goes back: nanoseconds from a beginning that means nothing.
///
/// Everything that has an age is measured with it, so a device whose wall clock jumps from 1970 to today when the
/// network comes up forgets nothing and keeps nothing for ever.
public struct MonotonicInstant: Sendable, Hashable, Comparable {
    /// Nanoseconds since the clock's beginning.
    public var nanoseconds: Int64

    /// Makes an instant.
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Whether one instant is before another.
    public static func < (left: MonotonicInstant, right: MonotonicInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// The instant that is `duration` later; the last one there is, if that is beyond it.
    public func advanced(by duration: Duration) -> MonotonicInstant {
        advanced(byNanoseconds: duration.inNanoseconds)
    }

    /// The same for code that runs for each message and converted its `Duration` of 128 bits before.
    @inline(__always)
    package func advanced(byNanoseconds other: Int64) -> MonotonicInstant {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(other)
        return MonotonicInstant(nanoseconds: overflow ? (other < 0 ? .min : .max) : sum)
    }

    /// How much later `other` is.
    public func duration(to other: MonotonicInstant) -> Duration {
        .nanoseconds(other.nanoseconds &- nanoseconds)
    }
}

/// What tells a receiver the time; tests pass one that they turn by hand.
public protocol ReceiverClock: Sendable {
    /// The present moment; never before one that was returned earlier.
    var now: MonotonicInstant { get }

    /// The wall clock's time in milliseconds since the beginning of 1970, as in ``PushMessage/sentAt``; nil when the
    /// clock does not know it.
    ///
    /// Used for ``DeliverySettings/maxAge`` and nothing else: a wall clock may be wrong, and may jump.
    var wallNow: Int64? { get }

    /// Returns when `instant` has come.
    ///
    /// - Throws: `CancellationError` when the task is cancelled before.
    func sleep(until instant: MonotonicInstant) async throws
}

extension ReceiverClock {
    /// Nil: with such a clock the age of a message counts from its arrival.
    public var wallNow: Int64? { nil }
}

/// The machine's monotonic clock, which continues while the device sleeps.
///
/// It begins when the machine does, so all clocks of this kind tell the same time.
public struct SystemClock: ReceiverClock {
    private let beginning = ContinuousClock().systemEpoch

    /// Makes a clock.
    public init() {}

    /// The present moment.
    public var now: MonotonicInstant {
        MonotonicInstant(nanoseconds: beginning.duration(to: .now).inNanoseconds)
    }

    /// The machine's wall clock, in whole seconds.
    public var wallNow: Int64? { secondsSince1970().map { $0 * 1000 } }

    /// Returns when `instant` has come.
    public func sleep(until instant: MonotonicInstant) async throws {
        try await Task.sleep(until: beginning.advanced(by: .nanoseconds(instant.nanoseconds)), clock: .continuous)
    }
}

extension Int64 {
    /// So many seconds, in nanoseconds.
    static func seconds(_ seconds: Double) -> Int64 { Int64(seconds * 1e9) }

    /// How much later this is than `earlier`; as much as there is where that is beyond 292 years.
    @inline(__always)
    package func since(_ earlier: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(earlier)
        return overflow ? (self < earlier ? .min : .max) : difference
    }

    /// The sum, or the end of the range that it would leave.
    func addingClamped(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }
}

extension Duration {
    /// The duration in nanoseconds, at most 292 years.
    // Not by `components`: its division is not known to be one by a constant, and takes 8 ns more at each look at a
    // clock.
    package var inNanoseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000) }
}
