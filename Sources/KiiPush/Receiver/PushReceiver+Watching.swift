// Observing a receiver: traces, dead letters, metrics, and the parts of its chain.

import Synchronization

extension HandlerRegistry {
    /// Calls `listener` with the trace of every message from now on.
    ///
    /// Listeners are called before `receive` returns. There is no trace of a change that a newer one replaced while it
    /// waited on a service's disk, and none is made without a listener.
    @discardableResult
    public func onTrace(_ listener: @escaping @Sendable (Trace) -> Void) -> ListenerToken {
        let number = receiver.setup.withLock { $0.traceListeners.add(listener) }
        return ListenerToken { [weak receiver] in _ = receiver?.setup.withLock { $0.traceListeners.remove(number) } }
    }

    /// Calls `listener` with each message that is dead-lettered from now on.
    ///
    /// The dead letter is then in the store, and has its number. Listeners are called by the task that received the
    /// message, or by the one that used the kill switch, which dead-letters up to 1,000 messages at once; they are not
    /// called for dead letters that were in the store before, see ``DeadLetterStore/count``.
    @discardableResult
    public func onDeadLetter(_ listener: @escaping @Sendable (DeadLetter) -> Void) -> ListenerToken {
        let number = receiver.setup.withLock { $0.deadLetterListeners.add(listener) }
        return ListenerToken { [weak receiver] in
            _ = receiver?.setup.withLock { $0.deadLetterListeners.remove(number) }
        }
    }
}

extension PushReceiver {
    /// The numbers of messages received so far, by outcome, by route and by format.
    public var metrics: Metrics {
        var metrics = counters.snapshot(setup.withLock { $0.routes })
        let counts = formatCounts.withLock { $0 }
        for name in formats.names { metrics.formats[name] = counts[name] ?? 0 }
        return metrics
    }

    /// The names of the middlewares that a message passes, in order.
    public var middleware: [String] { chain.names }

    /// Probable mistakes in the chain, such as a loop guard before the deduplicator; empty if there are none.
    ///
    /// Check it in a test: `#expect(receiver.chainProblems.isEmpty)`.
    public var chainProblems: [ChainProblem] { chain.problems }

    /// The chain's loop guard, for its kill switch and its settings; nil if the chain has none.
    public var loopGuard: LoopGuard? { chain.loopGuard }

    /// The current listener.
    package var listener: (@Sendable (Trace) -> Void)? { setup.withLock { $0.listener } }
}
