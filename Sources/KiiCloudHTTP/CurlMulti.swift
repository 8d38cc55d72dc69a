#if HTTP
import CCurl
import CLibrary

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

    /// Adds a transfer; false if libcurl refuses it.
    func add(_ transfer: Transfer) -> Bool { unsafe curl_multi_add_handle(handle, transfer.handle) == CURLM_OK }

    /// Removes a transfer, which ends it.
    func remove(_ transfer: Transfer) { unsafe _ = curl_multi_remove_handle(handle, transfer.handle) }

    /// Does all work that does not block.
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
        unsafe _ = curl_multi_poll(handle, nil, 0, Int32(clamping: time.inMilliseconds), nil)
    }

    /// Closes all connections; all transfers must have been removed.
    func close() { unsafe _ = curl_multi_cleanup(handle) }
}

extension Duration {
    /// Whole milliseconds, rounded up, so that a sleep does not end early; at least 0.
    var inMilliseconds: Int {
        let (seconds, attoseconds) = components
        guard self > .zero else { return 0 }
        let fraction = (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        let (whole, isTooLarge) = seconds.multipliedReportingOverflow(by: 1000)
        return isTooLarge ? Int(Int32.max) : Int(whole + fraction)
    }
}
#endif
