public import KiiPush
import Synchronization

/// The state of a payload that a transport has submitted: whether it is safe, and how it ended.
public final class Receipt: Sendable {
    /// Whether the payload is stored on disk, so that it may be acknowledged at once.
    ///
    /// If not, acknowledge it when its ``end()`` returns `Disposition.accept` or `Disposition.reject`.
    public let isStored: Bool

    private let state = Mutex(State.open([]))

    private enum State {
        case open([@Sendable (Outcome?) -> Void])
        case over(Outcome?, Answer?)
    }

    /// Whether the transport passes ``answer`` on.
    package let passesAnswer: Bool

    package init(isStored: Bool, passesAnswer: Bool = false) {
        self.isStored = isStored
        self.passesAnswer = passesAnswer
    }

    /// How it ended; nil while it has not ended, or if the service left it.
    public var outcome: Outcome? { state.withLock { if case .over(let outcome, _) = $0 { outcome } else { nil } } }

    /// What its handlers have answered, once it has ended; nil without an answer, or if the transport cannot pass one
    /// on, see ``TransportAbilities/answers``.
    public var answer: Answer? { state.withLock { if case .over(_, let answer) = $0 { answer } else { nil } } }

    /// Calls `action` once, with the outcome of the payload; nil if the service stopped before it ended.
    ///
    /// It is called at once if the outcome is known, else by the task that ends the payload, so only wake a thread in
    /// it.
    public func onEnd(_ action: @escaping @Sendable (Outcome?) -> Void) {
        let known: Outcome?? = state.withLock { state in
            switch state {
            case .open(let actions):
                state = .open(actions + [action])
                return nil
            case .over(let outcome, _): return .some(outcome)
            }
        }
        if let known { action(known) }
    }

    /// Waits until the payload has ended.
    ///
    /// Cancelling the task does not end the wait; the service ends each receipt when it stops, at the latest.
    ///
    /// - Returns: how it ended; nil if the service stopped before, and will continue with it only if it is stored.
    public func end() async -> Outcome? {
        await withCheckedContinuation { waiter in onEnd { waiter.resume(returning: $0) } }
    }

    /// Notifies the waiters; only the first end counts.
    package func finish(_ outcome: Outcome?, _ answer: Answer? = nil) {
        let actions = state.withLock { state in
            guard case .open(let actions) = state else { return [] as [@Sendable (Outcome?) -> Void] }
            state = .over(outcome, answer)
            return actions
        }
        for action in actions { action(outcome) }
    }
}
