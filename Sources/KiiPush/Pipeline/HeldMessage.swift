import Synchronization

/// A message that the loop guard holds, until its breaker finds that the loop has ended, or until somebody releases or
/// drops it.
///
/// It is in memory, and its reservation stays in the deduplication store. A transport that can deliver again should
/// keep it until ``end()`` returns its outcome.
public final class HeldMessage: Sendable, Identifiable {
    /// The number under which it is listed; numbers of one guard increase.
    public let id: UInt64
    /// The routes that it is held for; others may have handled it already.
    public let routes: [String]
    /// The message on its way, with what the stages keep of it.
    package let routed: RoutedMessage
    /// The stages that have passed it and must learn its end; for a remainder, the end that they know.
    package let chain: ChainProgress
    /// The receiver to whose handlers it goes: tells those apart that share a guard.
    package let receiver: ObjectIdentifier
    /// Who handles it; weak, or a receiver that is let go with messages held would stay for ever.
    package weak let keeper: (any HeldKeeper)?
    /// Tells the stages that it has passed how it ended, when its keeper is gone.
    private let settle: @Sendable (RoutedMessage, Outcome, ChainProgress) -> Void
    private let state: Mutex<State>

    private struct State {
        var outcome: Outcome?
        /// What was taken down before it was held; let go with the end, since a listener that keeps the trace keeps
        /// this.
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
    /// When it arrived, on the receiver's clock.
    public var arrivedAt: MonotonicInstant { routed.arrivedAt }
    /// How many bytes its payload has.
    package var bytes: Int { routed.message.raw.bytes.count }
    /// Whether other routes handled the message when it came, so that its outcome is known and this is what is left.
    public var isRemainder: Bool { if case .ended = chain { true } else { false } }

    /// The message as it was when it was held, with what was taken down of it until then.
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

    /// Ends it unhandled, since its receiver is gone.
    package func abandon() {
        let outcome = Outcome.failed(
            Outcome.Failure(place: "receiver", isStage: true, error: ReceiverGone(), handled: MatchedRoutes()))
        if !isRemainder { settle(routed, outcome, chain) }
        finish(outcome)
    }

    /// Tells those who wait; the first outcome counts.
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

/// Who handles held messages when their turn comes, and ends them: their receiver, or the service that has it.
package protocol HeldKeeper: AnyObject, Sendable {
    /// Whether what it holds lies on disk, so that transports need not bring it again.
    var isDurable: Bool { get }
    /// Handles one whose turn it is, or that somebody has let go; nil when it is held again.
    func run(_ held: HeldMessage, _ bypass: AdmissionBypass) async -> Outcome?
    /// Has one handled whose turn a breaker gave it, and tells the breaker when that has ended.
    func giveTurn(_ held: HeldMessage, _ breaker: BreakerID)
    /// Ends one unhandled, as `looped` (`rate`).
    func drop(_ held: HeldMessage)
    /// Ends one unhandled, since a newer change of its object has its place.
    func supersede(_ held: HeldMessage)
    /// Puts one among the dead letters.
    func putAside(_ held: HeldMessage, _ reason: DeadLetter.Reason)
}

/// A message was held when its receiver was let go; its transport is told to deliver it again.
package struct ReceiverGone: Error {}
