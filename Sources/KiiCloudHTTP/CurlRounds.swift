#if HTTP
import CCurl
import CLibrary
import KiiCloud

/// The thread's work: starts transfers, and completes their exchanges.
struct CurlRounds: ~Copyable {
    private let multi: CurlMulti
    private let queue: CurlQueue
    private var running: [UInt: Transfer] = [:]
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

/// libcurl's multi handle: one thread drives its transfers, and other threads use it to wake that thread.
///
/// The thread closes it when no other thread can wake it any more.
@safe
struct CurlMulti: @unchecked Sendable {  // Other threads only call `wake`, which libcurl allows them at any time.
    private let handle: UnsafeMutableRawPointer

    /// Makes one; nil if memory is exhausted.
    init?(_ settings: CurlSettings) {
        Self.initialized
        guard let made = unsafe curl_multi_init() else { return nil }
        unsafe handle = made
        unsafe ccurl_multi_set_number(handle, CURLMOPT_MAX_TOTAL_CONNECTIONS, settings.mostAtOnce)
        unsafe ccurl_multi_set_number(handle, CURLMOPT_MAXCONNECTS, settings.mostAtOnce)
    }

    /// The library is initialized once and never cleaned up.
    private static let initialized: Void = {
        preventOpenSSLCleanup()
        _ = curl_global_init(Int(CURL_GLOBAL_ALL))
    }()

    /// Ends the thread's current sleep, or its next one.
    func wake() { unsafe _ = curl_multi_wakeup(handle) }

    // MARK: On the thread

    func add(_ transfer: Transfer) -> Bool { unsafe curl_multi_add_handle(handle, transfer.handle) == CURLM_OK }

    func remove(_ transfer: Transfer) { unsafe _ = curl_multi_remove_handle(handle, transfer.handle) }

    func perform() {
        var count: Int32 = 0
        unsafe _ = curl_multi_perform(handle, &count)
    }

    /// The next completed transfer, and its result.
    func nextDone() -> (id: UInt, result: CURLcode)? {
        var result = CURLE_OK
        guard let done = unsafe ccurl_next_done(handle, &result) else { return nil }
        return (UInt(bitPattern: done), result)
    }

    /// Sleeps until a connection is ready, libcurl has work, another thread wakes it, or the time has passed.
    func poll(_ time: Duration) {
        unsafe _ = curl_multi_poll(handle, nil, 0, Int32(time.inMilliseconds), nil)
    }

    /// Closes all connections; all transfers must have been removed.
    func close() { unsafe _ = curl_multi_cleanup(handle) }
}

extension Duration {
    /// Whole milliseconds, rounded up, so that a sleep does not end early; at least 0, and at most 24 days.
    var inMilliseconds: Int {
        Int(Int32(clamping: (max(self, .zero).attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000))
    }
}
#endif
