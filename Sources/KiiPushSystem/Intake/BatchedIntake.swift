import CLibrary
package import KiiPush
package import KiiPushDelivery
import Synchronization

/// Submits payloads to an intake, in batches where they fit, and decides when to retry.
package struct BatchedIntake {
    /// The most payloads in one batch.
    package static let largestBatch = 64
    /// The first and the longest pause after the inbox has failed.
    private static let pauses = (first: Duration.milliseconds(100), longest: Duration.seconds(10))

    package let intake: PushIntake
    private let signal: ThreadSignal
    private let room = RoomFlag()
    private var size = largestBatch
    private var isFull = false
    /// How often in a row it was full, or failed, and the time of the next attempt.
    private var refusals = 0
    private var pausedUntil: ContinuousClock.Instant?

    /// Starts with an intake that has capacity; the signal is raised when there may be capacity again.
    package init(_ intake: PushIntake, _ signal: ThreadSignal) {
        self.intake = intake
        self.signal = signal
    }

    /// Submits as many of the first payloads as fit; returns the receipts of those, at least one.
    ///
    /// - Throws: the refusal, `full` only if not even one fits; check ``wait`` then.
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
                    // A batch must fit as a whole, and a small service never accepts a large one.
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
        // The announced capacity did not suffice for a large payload: avoids retrying in a busy loop.
        if refusals > 1 { pause(for: .milliseconds(5)) }
        room.isThere.store(false, ordering: .releasing)
        intake.whenRoom { [room, signal] in
            room.isThere.store(true, ordering: .releasing)
            signal.raise()
        }
    }

    /// Pauses, since the inbox has failed.
    package mutating func pauseAfterFailure() {
        pause(for: Self.pauses.first.doubled(refusals, upTo: Self.pauses.longest))
        refusals += 1
    }

    private mutating func pause(for duration: Duration) { pausedUntil = .now + duration }

    /// How long not to retry.
    package enum Wait {
        case none
        case upTo(Duration)
        /// Until the signal is raised.
        case untilSignal
    }

    /// How long not to retry; check it when the signal was raised, and when the time has passed.
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

/// Whether there may be capacity again; set by the task that waits for it.
private final class RoomFlag: Sendable {
    let isThere = Atomic<Bool>(true)
}
