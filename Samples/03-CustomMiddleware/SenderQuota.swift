import KiiPush
import Synchronization

/// Refuses a sender's messages beyond so many a period, so that one chatty device cannot keep this one busy.
///
/// A middleware decides in `admit` and learns in `settle` how the message ended: what was not handled is given back.
final class SenderQuota: Middleware {
    private struct Use {
        var since: MonotonicInstant
        var count = 0
    }

    private let limit: Int
    private let period: Duration
    /// Bounded: when too many senders are known, those whose period is over are forgotten, then all.
    private let uses = Mutex<[Sender: Use]>([:])
    private let mostSenders = 1000

    init(limit: Int, per period: Duration) {
        self.limit = limit
        self.period = period
    }

    func admit(_ message: inout RoutedMessage) -> Verdict {
        guard let sender = message.message.sender else { return .pass }
        let now = message.arrivedAt
        return uses.withLock { uses in
            makeRoom(in: &uses, now)
            var use = uses[sender] ?? Use(since: now)
            if use.since.duration(to: now) >= period { use = Use(since: now) }
            guard use.count < limit else { return .refuse("sender quota") }
            use.count += 1
            uses[sender] = use
            return .pass
        }
    }

    func settle(_ message: RoutedMessage, _ outcome: Outcome) {
        if case .handled = outcome { return }
        guard let sender = message.message.sender else { return }
        uses.withLock { $0[sender]?.count -= 1 }
    }

    private func makeRoom(in uses: inout [Sender: Use], _ now: MonotonicInstant) {
        guard uses.count >= mostSenders else { return }
        uses = uses.filter { $0.value.since.duration(to: now) < period }
        if uses.count >= mostSenders { uses = [:] }
    }
}
