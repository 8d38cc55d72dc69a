public import KiiPush
import Synchronization

/// What a transport knows of a payload that it has handed over: whether it is safe, and how it ended.
public final class Receipt: Sendable {
    /// Whether the payload lies on disk: it may be acknowledged, whatever happens.
    ///
    /// Else it is to be acknowledged when its ``end()`` has come with `Disposition.accept` or `Disposition.reject`.
    public let isStored: Bool

    private let state = Mutex(State.open([]))

    private enum State {
        case open([@Sendable (Outcome?) -> Void])
        case over(Outcome?)
    }

    package init(isStored: Bool) { self.isStored = isStored }

    /// How it ended; nil while it has not, and when the service left it.
    public var outcome: Outcome? { state.withLock { if case .over(let outcome) = $0 { outcome } else { nil } } }

    /// Calls `action` once, with how the payload ended; nil when the service stopped before it did.
    ///
    /// It is called at once if that is known, else by the task that ended it: let it wake a thread, and no more.
    public func onEnd(_ action: @escaping @Sendable (Outcome?) -> Void) {
        let known: Outcome?? = state.withLock { state in
            switch state {
            case .open(let actions):
                state = .open(actions + [action])
                return nil
            case .over(let outcome): return .some(outcome)
            }
        }
        if let known { action(known) }
    }

    /// Waits until the payload has ended.
    ///
    /// It waits whether or not the task is cancelled: the service ends each receipt when it stops, at the latest.
    ///
    /// - Returns: how it ended; nil when the service stopped before it did, and will go on with it only if it is
    ///   stored.
    public func end() async -> Outcome? {
        await withCheckedContinuation { waiter in onEnd { waiter.resume(returning: $0) } }
    }

    /// Tells those who wait; the first end counts.
    package func finish(_ outcome: Outcome?) {
        let actions = state.withLock { state in
            guard case .open(let actions) = state else { return [] as [@Sendable (Outcome?) -> Void] }
            state = .over(outcome)
            return actions
        }
        for action in actions { action(outcome) }
    }
}
