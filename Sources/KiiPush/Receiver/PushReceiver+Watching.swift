// What a receiver tells of itself: traces, dead letters, counts, and of what its chain is made.

import Synchronization

extension PushReceiver {
    /// Calls `listener` with the trace of every message from now on.
    ///
    /// Several listeners, up to 64, are called one after the other, in the order in which they were added, by the task
    /// that received the message, before `receive` returns; keep them short. While there is no listener, no trace is
    /// made.
    ///
    /// - Parameter listener: called once for each message.
    /// - Returns: a token to remove the listener with; drop it to keep the listener.
    @discardableResult
    public func onTrace(_ listener: @escaping @Sendable (Trace) -> Void) -> ListenerToken {
        let number = changeSetup { $0.traceListeners.add(listener) }
        return ListenerToken { [weak self] in self?.changeSetup { $0.traceListeners.remove(number) } }
    }

    /// Calls `listener` with each message that is dead-lettered from now on.
    ///
    /// The dead letter is in the store by then, and has its number. Several listeners, up to 64, are called one after
    /// the other, by the task that dead-lettered the message: the one that received it, or the one that used the kill
    /// switch. Keep them short: a kill dead-letters up to 1,000 messages at once. Listeners are not called for dead
    /// letters that were in the store before; see ``DeadLetterStore/count``.
    ///
    /// - Parameter listener: called once for each dead letter.
    /// - Returns: a token to remove the listener with; drop it to keep the listener.
    @discardableResult
    public func onDeadLetter(_ listener: @escaping @Sendable (DeadLetter) -> Void) -> ListenerToken {
        let number = setup.withLock { $0.deadLetterListeners.add(listener) }
        return ListenerToken { [weak self] in self?.setup.withLock { $0.deadLetterListeners.remove(number) } }
    }

    /// How many messages were taken in so far, and how they ended.
    public var metrics: Metrics { counters.snapshot(setup.withLock { $0.routes }) }

    /// The names of the stages that a message passes, in order.
    public var middleware: [String] { chain.names }

    /// What in the chain was hardly meant so, such as a loop guard before the deduplicator; empty when all is well.
    ///
    /// Let a test look at it once: `#expect(receiver.chainProblems.isEmpty)`.
    public var chainProblems: [ChainProblem] { chain.problems }

    /// The chain's loop guard, for its kill switch and its settings; nil when the chain has none.
    public var loopGuard: LoopGuard? { chain.loopGuard }

    /// The listener as it is now.
    package var listener: (@Sendable (Trace) -> Void)? { setup.withLock { $0.listener } }
}
