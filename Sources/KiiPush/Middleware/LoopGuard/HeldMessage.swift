import Synchronization

/// A message that the loop guard holds, until its breaker finds the loop ended, or somebody releases or drops it.
///
/// It lies in memory, with its reservation in the seen store: a transport that can deliver again should keep it until
/// ``end()`` tells what became of it.
public final class HeldMessage: Sendable, Identifiable {
    /// The number under which it is listed; of two held by one guard the later one's is higher.
    public let id: UInt64
    /// The routes that it is held for; others may have handled it already.
    public let routes: [String]
    /// The message on its way, with what the stages keep of it.
    let routed: RoutedMessage
    /// How many stages have passed it and are to be told its end; nil for a remainder, of which they know it.
    let passed: Int?
    /// The receiver to whose handlers it goes; weak, or a receiver that is let go with messages held would stay for ever.
    let owner: HeldOwner
    /// Who handles it in place of the receiver: a service, while that has it.
    weak let keeper: (any HeldKeeper)?
    private let state: Mutex<State>

    private struct State {
        var outcome: Outcome?
        /// What was taken down before it was held; let go with the end, since a listener that keeps the trace keeps this.
        var recorder: TraceRecorder?
        var lastWaiter: UInt64 = 0
        var waiters: [UInt64: CheckedContinuation<Outcome?, Never>] = [:]
    }

    init(
        id: UInt64, _ routed: RoutedMessage, passed: Int?, owner: PushReceiver, keeper: (any HeldKeeper)? = nil
    ) {
        self.keeper = keeper
        self.id = id
        var waiting = routed
        waiting.forgetCounts()
        waiting.recorder = nil
        self.routed = waiting
        self.passed = passed
        routes = routed.held.ids
        self.owner = HeldOwner(owner)
        state = Mutex(State(recorder: routed.recorder))
    }

    /// The message.
    public var message: PushMessage { routed.message }
    /// The message's number in its receiver, as in traces.
    public var messageID: UInt64 { routed.id }
    /// When it arrived, on the receiver's clock.
    public var arrivedAt: MonotonicInstant { routed.arrivedAt }
    /// How many bytes its payload has.
    var bytes: Int { routed.message.raw.bytes.count }
    /// Whether other routes handled the message when it came, so that its outcome is known and this is what is left.
    public var isRemainder: Bool { passed == nil }

    /// The message as it was when it was held, with what was taken down of it until then.
    func traced() -> RoutedMessage {
        var message = routed
        message.recorder = state.withLock { $0.recorder }
        return message
    }

    /// Waits for what becomes of the message.
    ///
    /// - Returns: its outcome; nil when the waiting task was cancelled.
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
    func abandon() {
        let outcome = Outcome.failed(
            Outcome.Failure(place: "receiver", isStage: true, error: ReceiverGone(), handled: MatchedRoutes()))
        if let passed { owner.chain.settle(routed, outcome, passed) }
        finish(outcome)
    }

    /// Tells those who wait; the first outcome counts.
    func finish(_ outcome: Outcome) {
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
        "held \(id): \(routes.map(NearestName.shown).joined(separator: " ")), \(message.kind)"
    }
}

/// The receiver of a held message, as long as somebody else keeps it, and what is needed when nobody does.
final class HeldOwner: Sendable {
    weak let receiver: PushReceiver?
    let id: ObjectIdentifier
    let chain: CompiledChain

    init(_ receiver: PushReceiver) {
        self.receiver = receiver
        id = ObjectIdentifier(receiver)
        chain = receiver.chain
    }
}

/// A message was held when its receiver was let go; its transport is told to deliver it again.
struct ReceiverGone: Error {}
