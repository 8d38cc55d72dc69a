public import KiiPush
import Synchronization

/// A clock that a test turns by hand: no test needs to sleep.
///
/// ```swift
/// let clock = ManualClock()
/// let receiver = PushReceiver(clock: clock)
/// clock.advance(by: .seconds(601))
/// ```
public final class ManualClock: ReceiverClock {
    private let time: Mutex<MonotonicInstant>

    /// Makes a clock that stands at `start`.
    public init(start: MonotonicInstant = MonotonicInstant(nanoseconds: 0)) { time = Mutex(start) }

    /// The moment at which the clock stands.
    public var now: MonotonicInstant { time.withLock { $0 } }

    /// Turns the clock on; it cannot be turned back, since no monotonic clock goes back.
    public func advance(by duration: Duration) {
        precondition(duration >= .zero, "a monotonic clock does not go back")
        time.withLock { $0 = $0.advanced(by: duration) }
    }
}
