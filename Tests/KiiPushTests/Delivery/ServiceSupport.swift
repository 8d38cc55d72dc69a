import KiiPushTesting
import Synchronization

@testable import KiiPush

/// A transport that a test holds in its hand: it gives out its intake and returns when the test says so.
final class HandTransport: PushTransport {
    let name = "hand"
    let abilities: TransportAbilities = [.acknowledges, .refuses]
    private let state = Mutex<(intake: PushIntake?, waiters: [CheckedContinuation<PushIntake, Never>])>((nil, []))
    private let end = Mutex<(isOver: Bool, waiter: CheckedContinuation<Void, Never>?)>((false, nil))

    func run(_ intake: PushIntake) async throws {
        let waiters = state.withLock { state in
            defer { state = (intake, []) }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: intake) }
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let isOver = end.withLock { end in
                    if !end.isOver { end.waiter = waiter }
                    return end.isOver
                }
                if isOver { waiter.resume() }
            }
        } onCancel: {
            finish()
        }
    }

    /// The intake, once the service is open.
    func intake() async -> PushIntake {
        await withCheckedContinuation { waiter in
            let intake = state.withLock { state in
                if state.intake == nil { state.waiters.append(waiter) }
                return state.intake
            }
            if let intake { waiter.resume(returning: intake) }
        }
    }

    /// Lets it return: it has no more payloads.
    func finish() {
        let waiter = end.withLock { end in
            defer { end = (true, nil) }
            return end.waiter
        }
        waiter?.resume()
    }
}

/// Lets other tasks run until a condition holds.
///
/// - Throws: when it does not for as long as a minute of a busy machine.
func until(_ condition: () -> Bool) async throws {
    let end = ContinuousClock.now.advanced(by: .seconds(60))
    while !condition() {
        guard ContinuousClock.now < end else { throw NeverHeld() }
        await Task.yield()
    }
}

/// A condition that a test waits for did not come to hold.
struct NeverHeld: Error {}
