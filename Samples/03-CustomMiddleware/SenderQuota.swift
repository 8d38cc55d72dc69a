import KiiPush
import Synchronization

/// Refuses a sender's messages beyond so many a period, so that one chatty device cannot keep this one busy.
///
/// A middleware decides in `admit` and learns in `settle` how the message ended: a message that was not handled is
/// given back to the period that it was counted in, which may be over by then. For one receiver, whose messages have
/// numbers of their own.
final class SenderQuota: Middleware {
    private struct Use {
        /// A number of its own for each period of each sender.
        let period: Int
        let since: MonotonicInstant
        var count = 0
    }

    private struct State {
        var uses: [Sender: Use] = [:]
        var lastPeriod = 0
        /// The period in which each message that is being handled was counted.
        var counted: [UInt64: Int] = [:]
    }

    private let limit: Int
    private let period: Duration
    private let mostSenders: Int
    private let state = Mutex(State())

    /// Makes the middleware; when it knows too many senders, it forgets those whose period is over, and else all.
    init(limit: Int, per period: Duration, senders: Int = 1000) {
        self.limit = limit
        self.period = period
        mostSenders = senders
    }

    func admit(_ routed: inout RoutedMessage) -> Verdict {
        guard let sender = routed.message.sender else { return .pass }
        let (id, now) = (routed.id, routed.arrivedAt)
        return state.withLock { state in
            var use = currentUse(of: sender, &state, now)
            guard use.count < limit else { return .refuse("sender quota") }
            use.count += 1
            state.uses[sender] = use
            state.counted[id] = use.period
            return .pass
        }
    }

    func settle(_ routed: RoutedMessage, _ outcome: Outcome) {
        guard let sender = routed.message.sender else { return }
        state.withLock { state in
            let period = state.counted.removeValue(forKey: routed.id)
            if case .handled = outcome { return }
            // The period has ended, so there is no count to correct.
            if state.uses[sender]?.period == period { state.uses[sender]?.count -= 1 }
        }
    }

    private func currentUse(of sender: Sender, _ state: inout State, _ now: MonotonicInstant) -> Use {
        if let use = state.uses[sender], use.since.duration(to: now) < period { return use }
        if state.uses.count >= mostSenders {
            state.uses = state.uses.filter { $0.value.since.duration(to: now) < period }
            if state.uses.count >= mostSenders { state.uses = [:] }
        }
        state.lastPeriod += 1
        return Use(period: state.lastPeriod, since: now)
    }
}
