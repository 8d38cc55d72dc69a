package import KiiPush
package import KiiPushDelivery
import Synchronization

/// A service's intake that behaves as a test says, and records what a transport submits.
package final class TrialIntake: IntakeService {
    private struct State {
        var payloads: [RawPayload] = []
        var receipts: [Receipt] = []
        var batches: [Int] = []
        /// How many more payloads it accepts.
        var room = Int.max
        var refusal: IntakeRefusal?
        var refusals = 0
        var events: [TransportEvent] = []
        var waiting: (@Sendable () -> Void)?
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var lastWaiter = 0
        /// The outcome of each payload when it is accepted; nil if the test ends it later.
        var end: Outcome?

        /// Whether a transport need not wait.
        var hasRoom: Bool { if case .full? = refusal { false } else { room > 0 } }
    }

    /// The most payloads that it accepts; then it says that it stops.
    private static let most = 10_000

    package let isDurable: Bool
    private let state = Mutex(State())

    /// Makes an intake that accepts everything.
    package init(isDurable: Bool = false) { self.isDurable = isDurable }

    /// The intake that a transport gets.
    package func intake(for name: String) -> PushIntake { PushIntake(service: self, transport: name) }

    // MARK: Records

    /// The accepted payloads, in order.
    package var payloads: [RawPayload] { state.withLock { $0.payloads } }
    /// The accepted payloads, as text.
    package var texts: [String] { payloads.map { String(decoding: $0.bytes, as: UTF8.self) } }
    /// The size of each submitted batch.
    package var batches: [Int] { state.withLock { $0.batches } }
    /// How often it refused a payload.
    package var refusals: Int { state.withLock { $0.refusals } }
    /// The events that the transport reported.
    package var events: [TransportEvent] { state.withLock { $0.events } }
    /// Whether the transport waits for capacity.
    package var isAwaited: Bool { state.withLock { $0.waiting != nil || !$0.waiters.isEmpty } }

    // MARK: Control

    /// Ends an accepted payload; nil if the service stopped first.
    ///
    /// An index that was never accepted has no effect.
    package func end(_ index: Int, _ outcome: Outcome?) {
        let receipt = state.withLock { $0.receipts.indices.contains(index) ? $0.receipts[index] : nil }
        receipt?.finish(outcome)
    }

    /// Ends each payload with this outcome when it is accepted.
    package func endAll(_ outcome: Outcome) { state.withLock { $0.end = outcome } }

    /// Refuses everything from now on; nil accepts again, and notifies waiters.
    package func refuse(_ refusal: IntakeRefusal?) {
        state.withLock { $0.refusal = refusal }
        if refusal == nil { setRoom(.max) }
    }

    /// Sets the remaining capacity, and notifies waiters if there is any.
    package func setRoom(_ count: Int) {
        let (action, waiters) = state.withLock { state in
            state.room = count
            guard count > 0, state.refusal == nil else {
                return (nil as (@Sendable () -> Void)?, [:] as [Int: CheckedContinuation<Void, Never>])
            }
            defer { (state.waiting, state.waiters) = (nil, [:]) }
            return (state.waiting, state.waiters)
        }
        action?()
        for waiter in waiters.values { waiter.resume() }
    }

    // MARK: The intake

    package func submit(_ payloads: [RawPayload]) throws(IntakeRefusal) -> [Receipt] {
        let answer: Result<([Receipt], Outcome?), IntakeRefusal> = state.withLock { state in
            // A transport that redelivers endlessly must not fill the memory.
            if state.payloads.count >= Self.most { return .failure(.stopping) }
            if let refusal = state.refusal ?? (payloads.count > state.room ? .full : nil) {
                state.refusals += 1
                return .failure(refusal)
            }
            if state.room != .max { state.room -= payloads.count }
            let receipts = payloads.map { _ in Receipt(isStored: isDurable) }
            state.payloads += payloads
            state.receipts += receipts
            state.batches.append(payloads.count)
            return .success((receipts, state.end))
        }
        let (receipts, end) = try answer.get()
        if let end { for receipt in receipts { receipt.finish(end) } }
        return receipts
    }

    package func room() async {
        let number = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let isNow = state.withLock { state in
                    // If it was cancelled before it waits, nobody else would wake it.
                    if Task.isCancelled || state.hasRoom { return true }
                    state.waiters[number] = waiter
                    return false
                }
                if isNow { waiter.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
        }
    }

    package func pause(_ length: Duration) async { try? await Task.sleep(for: length) }

    package func whenRoom(_ action: @escaping @Sendable () -> Void) {
        let isNow = state.withLock { state in
            if state.hasRoom { return true }
            state.waiting = action
            return false
        }
        if isNow { action() }
    }

    package func report(_ event: TransportEvent, _ transport: String) { state.withLock { $0.events.append(event) } }

    package func drop(_ what: String, largerThan limit: Int, _ network: Transport?, of transport: String) {
        report(.possibleGap("\(what) is larger than \(limit)", cause: .notAccepted), transport)
    }
}

/// Waits for a condition, for at most a minute or the given time; returns whether it became true.
///
/// On a machine that is busy with other tests, both the waiter and the tasks it waits for run late. So it gives up
/// only after a tenth of the turns that an idle machine gives in that time.
package func comes(
    within limit: Duration = .seconds(60), _ condition: () throws -> Bool
) async rethrows -> Bool {
    let end = ContinuousClock.now + limit
    var turns = Int(limit / .milliseconds(10))
    while try !condition() {
        if turns <= 0, ContinuousClock.now > end { return false }
        turns -= 1
        // Other threads make it true, and need the processor.
        try? await Task.sleep(for: .milliseconds(1))
    }
    return true
}
