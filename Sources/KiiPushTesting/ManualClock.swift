public import KiiPush
public import KiiPushRules
import Synchronization

/// A clock that only a test advances, so that no test needs to sleep.
///
/// ```swift
/// let clock = ManualClock()
/// let receiver = PushReceiver(clock: clock)
/// clock.advance(by: .seconds(601))
/// ```
public final class ManualClock: TurnedClock {
    private struct State {
        var time: TurnedTime
        var lastSleeper: UInt64 = 0
        var sleepers: [UInt64: (end: MonotonicInstant, continuation: CheckedContinuation<Void, any Error>)] = [:]
    }

    private let state: Mutex<State>

    /// Makes a clock that shows `start`, and whose wall clock shows `wallNow`; nil for one that knows no date.
    public init(start: MonotonicInstant = MonotonicInstant(nanoseconds: 0), wallNow: Int64? = nil) {
        state = Mutex(State(time: TurnedTime(now: start, wallNow: wallNow)))
    }

    /// The clock's current time.
    public var now: MonotonicInstant { state.withLock { $0.time.now } }

    /// The wall clock's time, in milliseconds since 1970; it advances with the clock, and jumps when it is set.
    public var wallNow: Int64? {
        get { state.withLock { $0.time.wallNow } }
        set { state.withLock { $0.time.wallNow = newValue } }
    }

    /// Advances the clock, and wakes the sleepers that are due; it cannot go back, since a monotonic clock never does.
    public func advance(by duration: Duration) {
        let woken = state.withLock { state in
            state.time.advance(by: duration)
            let woken = state.sleepers.filter { $0.value.end <= state.time.now }
            for number in woken.keys { state.sleepers[number] = nil }
            // Sleepers of one moment wake in the order in which they came, so that every run is the same.
            return woken.sorted { ($0.value.end, $0.key) < ($1.value.end, $1.key) }
        }
        for (_, sleeper) in woken { sleeper.continuation.resume() }
    }

    /// Returns when the clock has reached `instant`.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func sleep(until instant: MonotonicInstant) async throws {
        let number = state.withLock { state in
            state.lastSleeper += 1
            return state.lastSleeper
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.time.now >= instant || Task.isCancelled { return true }
                    state.sleepers[number] = (instant, continuation)
                    return false
                }
                if isOver { continuation.resume(with: Result { try Task.checkCancellation() }) }
            }
        } onCancel: {
            let sleeper = state.withLock { $0.sleepers.removeValue(forKey: number) }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    /// When the next sleeper wakes; nil if none sleeps.
    public var nextWake: MonotonicInstant? { state.withLock { $0.sleepers.values.map(\.end).min() } }
}

extension PushReceiver {
    var manualClock: ManualClock {
        get throws(TestMistake) {
            guard let clock = clock as? ManualClock else {
                throw TestMistake(
                    description: "a test advances its receiver's time: make the receiver with `clock: ManualClock()`")
            }
            return clock
        }
    }
}
