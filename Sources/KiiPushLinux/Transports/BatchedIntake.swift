import Glibc
package import KiiPush
package import KiiPushDelivery
import Synchronization

/// Hands payloads to an intake, many at once where they have room, and knows when it is worth while to try again.
package struct BatchedIntake {
    /// The most payloads that are handed over at once.
    package static let largestBatch = 64
    /// The first and the longest pause after the inbox has failed.
    private static let pauses = (first: Duration.milliseconds(100), longest: Duration.seconds(10))

    let intake: PushIntake
    private let signal: ThreadSignal
    private let room = RoomFlag()
    private var size = largestBatch
    private var isFull = false
    /// How often in a row it was full, or failed, and until when nothing is tried.
    private var refusals = 0
    private var pausedUntil: ContinuousClock.Instant?

    /// Begins with an intake that has room.
    ///
    /// - Parameters:
    ///   - intake: the intake.
    ///   - signal: is raised when there may be room again.
    package init(_ intake: PushIntake, _ signal: ThreadSignal) {
        self.intake = intake
        self.signal = signal
    }

    /// Hands over as many of the first payloads as have room.
    ///
    /// - Returns: the receipts of those that were taken in, at least one.
    /// - Throws: the refusal, `full` only when there is not even room for one; ask ``wait`` then.
    package mutating func submit(_ payloads: [RawPayload]) throws(IntakeRefusal) -> [Receipt] {
        size = min(size, payloads.count)
        while true {
            do throws(IntakeRefusal) {
                let receipts = try intake.submit(Array(payloads.prefix(size)))
                size = min(size * 2, Self.largestBatch)
                refusals = 0
                return receipts
            } catch {
                if case .full = error {
                    // All must find room, and a small service never has it for many.
                    if size > 1 {
                        size /= 2
                        continue
                    }
                    waitForRoom()
                }
                throw error
            }
        }
    }

    private mutating func waitForRoom() {
        isFull = true
        refusals += 1
        // Room that was told of was not enough for a large payload: do not ask again and again meanwhile.
        if refusals > 1 { pause(for: .milliseconds(5)) }
        room.isThere.store(false, ordering: .releasing)
        intake.whenRoom { [room, signal] in
            room.isThere.store(true, ordering: .releasing)
            signal.raise()
        }
    }

    /// Tries nothing for a while, since the inbox has failed.
    package mutating func pauseAfterFailure() {
        pause(for: min(Self.pauses.first * (1 << min(refusals, 10)), Self.pauses.longest))
        refusals += 1
    }

    private mutating func pause(for duration: Duration) { pausedUntil = .now + duration }

    /// How long there is nothing to try.
    package enum Wait {
        case none
        case upTo(Duration)
        /// Until the signal is raised.
        case untilSignal
    }

    /// How long there is nothing to try; ask it when the signal was raised, and when the time is over.
    package var wait: Wait {
        mutating get {
            if isFull, room.isThere.load(ordering: .acquiring) { isFull = false }
            if isFull { return .untilSignal }
            guard let end = pausedUntil else { return .none }
            let left = ContinuousClock.now.duration(to: end)
            if left > .zero { return .upTo(left) }
            pausedUntil = nil
            return .none
        }
    }
}

/// Whether there may be room again; set by the task that made it.
private final class RoomFlag: Sendable {
    let isThere = Atomic<Bool>(true)
}
