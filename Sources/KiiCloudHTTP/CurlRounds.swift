#if HTTP
import CCurl
import KiiCloud

/// The thread's work: starts transfers, and completes their exchanges.
struct CurlRounds: ~Copyable {
    private let multi: CurlMulti
    private let queue: CurlQueue
    private var running: [UInt: Transfer] = [:]
    /// The start of the current idle time.
    private var idleSince: ContinuousClock.Instant?

    /// The longest sleep; new work wakes the thread earlier.
    private static let longestSleep = Duration.seconds(60)

    init(_ multi: CurlMulti, _ queue: CurlQueue) {
        self.multi = multi
        self.queue = queue
    }

    /// Works until it has been idle for a while, or the transport is closed.
    consuming func serve() {
        while let sleep = round() {
            if sleep > .zero { multi.poll(sleep) }
        }
        multi.close()
        queue.end()
    }

    /// Does all work that is possible now; returns how long to sleep, or nil if the thread is to end.
    private mutating func round() -> Duration? {
        endCancelled()
        let orders = queue.take(beside: running.count)
        for exchange in orders.expired { exchange.finish(.failure(CurlError.timedOut(wasSent: false))) }
        for exchange in orders.begins { begin(exchange) }
        if orders.isClosed { endAll() }
        multi.perform()
        let hadDone = endDone()
        guard running.isEmpty else {
            idleSince = nil
            // Slots are free for waiting requests.
            if hadDone, orders.deadline != nil { return .zero }
            let longest = ContinuousClock.now + Self.longestSleep
            return ContinuousClock.now.duration(to: min(orders.deadline ?? longest, longest))
        }
        if orders.deadline != nil { return .zero }
        return idle(isClosed: orders.isClosed)
    }

    /// How long to sleep while idle; nil if the thread is to end.
    private mutating func idle(isClosed: Bool) -> Duration? {
        let since = idleSince ?? .now
        idleSince = since
        let left = queue.settings.idleLimit - since.duration(to: .now)
        guard left <= .zero || isClosed else { return left }
        return queue.leave() ? nil : .zero
    }

    private mutating func begin(_ exchange: Exchange) {
        // Cancelled in between.
        if exchange.isOver { return }
        guard let transfer = Transfer(exchange, queue.settings), multi.add(transfer) else {
            return exchange.finish(.failure(CurlError.unusable("libcurl does not take the request")))
        }
        running[transfer.id] = transfer
    }

    private mutating func endCancelled() {
        for (id, transfer) in running where transfer.exchange.isOver {
            multi.remove(transfer)
            running[id] = nil
        }
    }

    private mutating func endAll() {
        for transfer in running.values {
            multi.remove(transfer)
            transfer.exchange.finish(.failure(transfer.isSent ? CurlError.lost("closed by this program") : .closed))
        }
        running = [:]
    }

    /// Completes the transfers that libcurl has finished; false if there were none.
    private mutating func endDone() -> Bool {
        var hadDone = false
        while let (id, result) = multi.nextDone() {
            guard let transfer = running.removeValue(forKey: id) else { continue }
            multi.remove(transfer)
            transfer.exchange.finish(transfer.result(result))
            hadDone = true
        }
        return hadDone
    }
}
#endif
