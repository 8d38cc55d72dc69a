package import KiiPush
import Synchronization

/// A clock that only moves when it is set.
package protocol TurnedClock: ReceiverClock, AnyObject {
    /// The wall clock's time, in milliseconds since 1970; nil if it knows no date.
    var wallNow: Int64? { get set }

    /// Advances the clock by a duration that is not negative.
    func advance(by duration: Duration)
}

package struct TurnedTime: Sendable {
    package private(set) var now: MonotonicInstant
    /// The wall clock's time at some moment.
    private var wall: (milliseconds: Int64, at: MonotonicInstant)?

    package init(now: MonotonicInstant = MonotonicInstant(nanoseconds: 0), wallNow: Int64? = nil) {
        (self.now, wall) = (now, wallNow.map { ($0, now) })
    }

    /// The wall clock's time; it advances with the clock, and jumps when it is set.
    package var wallNow: Int64? {
        get {
            wall.map { wall in
                let elapsed = wall.at.duration(to: now) / .milliseconds(1)
                let (sum, overflow) = wall.milliseconds.addingReportingOverflow(Int64(elapsed))
                return overflow ? .max : sum
            }
        }
        set { wall = newValue.map { ($0, now) } }
    }

    /// Advances both; neither can go back, since a monotonic clock never does.
    package mutating func advance(by duration: Duration) {
        precondition(duration >= .zero, "a monotonic clock does not go back")
        now = now.advanced(by: duration)
    }
}

/// The clock of one test of a rules file.
final class RuleTestClock: TurnedClock {
    private let time = Mutex(TurnedTime())

    var now: MonotonicInstant { time.withLock { $0.now } }

    var wallNow: Int64? {
        get { time.withLock { $0.wallNow } }
        set { time.withLock { $0.wallNow = newValue } }
    }

    func advance(by duration: Duration) { time.withLock { $0.advance(by: duration) } }

    /// Returns at once or fails: only stand-ins run on this clock, and a sleep would never end.
    func sleep(until instant: MonotonicInstant) async throws {
        guard now >= instant else { throw CancellationError() }
    }
}
