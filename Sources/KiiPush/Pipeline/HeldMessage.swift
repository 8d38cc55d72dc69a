import Synchronization

/// A message that the loop guard holds until its breaker closes, or until somebody releases or drops it.
///
/// It is kept in memory, and its reservation in the deduplication store. A transport that can deliver again should keep
/// it until ``end()`` returns its outcome.
public final class HeldMessage: Sendable, Identifiable {
    /// Its number in the guard's list; the numbers of one guard increase.
    public let id: UInt64
    /// The routes that it is held for; others may have handled it already.
    public let routes: [String]
    /// The message, with the state that the middlewares keep in it.
    package let routed: RoutedMessage
    /// The middlewares that have admitted it and are called when it ends; for a remainder, the outcome that they have
    /// settled.
    package let chain: ChainProgress
    /// The receiver whose handlers get it; several receivers may share a guard.
    package let receiver: ObjectIdentifier
    /// Handles it; weak, because a receiver that is released while messages are held would otherwise never be freed.
    package weak let keeper: (any HeldKeeper)?
    /// Settles it with the middlewares that admitted it, if its keeper no longer exists.
    private let settle: @Sendable (RoutedMessage, Outcome, ChainProgress) -> Void
    private let state: Mutex<State>

    private struct State {
        var outcome: Outcome?
        /// The steps recorded before it was held; released when it ends, because a listener that keeps the trace keeps
        /// this object.
        var recorder: TraceRecorder?
        var lastWaiter: UInt64 = 0
        var waiters: [UInt64: CheckedContinuation<Outcome?, Never>] = [:]
    }

    package init(
        id: UInt64, _ routed: RoutedMessage, _ chain: ChainProgress, receiver: ObjectIdentifier,
        keeper: any HeldKeeper, settle: @escaping @Sendable (RoutedMessage, Outcome, ChainProgress) -> Void
    ) {
        self.receiver = receiver
        self.settle = settle
        self.keeper = keeper
        self.id = id
        var waiting = routed
        waiting.forgetCounts()
        waiting.recorder = nil
        self.routed = waiting
        self.chain = chain
        routes = routed.held.ids
        state = Mutex(State(recorder: routed.recorder))
    }

    /// The message.
    public var message: PushMessage { routed.message }
    /// The message's number in its receiver, as in traces.
    public var messageID: UInt64 { routed.id }
    /// When the payload arrived, on the receiver's clock.
    public var arrivedAt: MonotonicInstant { routed.arrivedAt }
    /// The number of bytes of its payload.
    package var bytes: Int { routed.message.raw.bytes.count }
    /// Whether other routes handled the message when it arrived: its outcome is known, and only these routes are left.
    public var isRemainder: Bool { if case .ended = chain { true } else { false } }

    /// The message as it was when it was held, with the steps recorded until then.
    package func traced() -> RoutedMessage {
        var message = routed
        message.recorder = state.withLock { $0.recorder }
        return message
    }

    /// Waits for the outcome of the message.
    ///
    /// - Returns: its outcome; nil if the waiting task was cancelled.
    public func end() async -> Outcome? {
        let number = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let isOver = state.withLock { state in
                    if state.outcome == nil && !Task.isCancelled { state.waiters[number] = waiter }
                    return state.waiters[number] == nil
                }
                if isOver { waiter.resume(returning: state.withLock { $0.outcome }) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: number) }?.resume(returning: nil)
        }
    }

    /// Ends it unhandled, because its receiver no longer exists.
    package func abandon() {
        let outcome = Outcome.failed(
            Outcome.Failure(place: "receiver", isStage: true, error: ReceiverGone(), handled: MatchedRoutes()))
        if !isRemainder { settle(routed, outcome, chain) }
        finish(outcome)
    }

    /// Resumes the waiters; only the first outcome counts.
    package func finish(_ outcome: Outcome) {
        let waiters = state.withLock { state in
            state.outcome = state.outcome ?? outcome
            state.recorder = nil
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume(returning: outcome) }
    }
}

extension HeldMessage: CustomStringConvertible {
    /// The number, the routes and the kind, on one line: `held 7: settings, Push to App`.
    public var description: String {
        "held \(id): \(routes.map(Suggestion.shown).joined(separator: " ")), \(message.kind)"
    }
}

/// Handles held messages when their turn comes, and ends them: their receiver, or the service that owns it.
package protocol HeldKeeper: AnyObject, Sendable {
    /// Whether it keeps held messages on disk, so that transports need not deliver them again.
    var isDurable: Bool { get }
    /// Handles a message whose turn it is, or that somebody released; returns nil if it is held again.
    func run(_ held: HeldMessage, _ bypass: AdmissionBypass) async -> Outcome?
    /// Has a message handled whose turn it is at a breaker, and notifies the breaker when that has ended.
    func giveTurn(_ held: HeldMessage, _ breaker: BreakerID)
    /// Ends a message unhandled, as `looped` (`rate`).
    func drop(_ held: HeldMessage)
    /// Ends a message unhandled, because a newer change of its object replaces it.
    func supersede(_ held: HeldMessage)
    /// Dead-letters a message.
    func putAside(_ held: HeldMessage, _ reason: DeadLetter.Reason)
}

/// A message was held when its receiver was released; its transport is asked to deliver it again.
package struct ReceiverGone: Error {}
