// Swift's own library has no wall clock, and takes half as long again to read the monotonic one.
import CClock

/// A moment on a monotonic clock: nanoseconds since an arbitrary beginning.
///
/// All ages are measured with it, so nothing expires early or late if a device's wall clock jumps.
public struct MonotonicInstant: Sendable, Hashable, InstantProtocol {
    /// Nanoseconds since the clock's beginning.
    public var nanoseconds: Int64

    /// Makes an instant.
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Whether one instant is before another.
    public static func < (left: MonotonicInstant, right: MonotonicInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// The instant that is `duration` later, limited to the last one.
    public func advanced(by duration: Duration) -> MonotonicInstant {
        advanced(byNanoseconds: duration.inNanoseconds)
    }

    /// The same for code that runs for each message and has converted its 128-bit `Duration` before.
    package func advanced(byNanoseconds other: Int64) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: nanoseconds.addingClamped(other))
    }

    /// How much later `other` is.
    public func duration(to other: MonotonicInstant) -> Duration {
        .nanoseconds(other.nanoseconds &- nanoseconds)
    }
}

/// The clock of a receiver; tests pass one that they advance by hand.
public protocol ReceiverClock: Sendable {
    /// The present moment; never earlier than one that was returned before.
    var now: MonotonicInstant { get }

    /// The wall clock's milliseconds since the beginning of 1970, as in ``PushMessage/sentAt``; nil if not known.
    ///
    /// Used only for ``DeliverySettings/maxAge``, and so that the devices of a fleet pause loops at the same times: a
    /// wall clock may be wrong and may jump.
    var wallNow: Int64? { get }

    /// Returns at `instant`.
    ///
    /// - Throws: `CancellationError` if the task is cancelled before.
    func sleep(until instant: MonotonicInstant) async throws
}

extension ReceiverClock {
    /// Nil: the age of a message then counts from its arrival.
    public var wallNow: Int64? { nil }
}

/// The machine's monotonic clock since its start, which continues while it sleeps; all of this kind tell the same time.
public struct SystemClock: ReceiverClock {
    /// Makes a clock.
    public init() {}

    /// The present moment.
    public var now: MonotonicInstant { MonotonicInstant(nanoseconds: clock_nanoseconds()) }

    /// The machine's wall clock.
    public var wallNow: Int64? {
        let time = clock_wall_milliseconds()
        return time < 0 ? nil : time
    }

    /// Returns at `instant`.
    public func sleep(until instant: MonotonicInstant) async throws {
        let instant = ContinuousClock().systemEpoch.advanced(by: .nanoseconds(instant.nanoseconds))
        try await Task.sleep(until: instant, clock: .continuous)
    }
}

extension Int64 {
    /// How much later this is than `earlier`, limited to 292 years.
    package func since(_ earlier: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(earlier)
        return overflow ? (self < earlier ? .min : .max) : difference
    }

    func addingClamped(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }
}

extension Duration {
    /// The duration in nanoseconds, at most 292 years.
    // Not by `components`: its division is not by a constant, and takes 8 ns more at each reading of a clock.
    package var inNanoseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000) }

    /// This pause, doubled so many times, and at most as long as another.
    package func doubled(_ times: Int, upTo longest: Duration) -> Duration {
        let (doubled, overflow) = inNanoseconds.multipliedReportingOverflow(by: 1 << min(max(times, 0), 62))
        return overflow ? longest : min(.nanoseconds(doubled), longest)
    }
}
