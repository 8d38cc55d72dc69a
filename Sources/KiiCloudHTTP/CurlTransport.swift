#if HTTP
public import KiiCloud

/// Carries requests to Kii's servers over HTTPS, with libcurl.
///
/// ```swift
/// let transport = try CurlTransport()
/// let client = KiiClient(KiiApp(.jp, id: "0123abcd", key: key), transport: transport, tokens: FixedToken(token))
/// ```
///
/// Make one per program: it has one thread, reuses connections, and uses HTTP/2 if the server supports it. The thread
/// starts with the first request, and ends with its connections after ``CurlSettings/idleLimit`` without work.
///
/// A server must present a valid certificate; TLS 1.2 or newer is required. The variable `https_proxy` applies, as in
/// other programs; the connection is encrypted end to end. Redirections are not followed, and cookies are not kept.
///
/// A request that changes something is sent at most once: if a reused connection turns out to be closed after sending,
/// the error is ``CurlError/lost(_:)``, since the outcome is unknown.
///
/// Cancelling a task ends its transfer at once. Errors contain no header values or bodies.
public final class CurlTransport: HTTPTransport {
    /// How it connects.
    public let settings: CurlSettings

    private let queue: CurlQueue

    /// Makes a transport; it connects with the first request.
    ///
    /// - Parameter settings: how to connect.
    /// - Throws: ``CurlError/unusable(_:)`` for invalid settings.
    public init(_ settings: CurlSettings = CurlSettings()) throws(CurlError) {
        try settings.check()
        self.settings = settings
        queue = CurlQueue(settings)
    }

    deinit { queue.close(then: nil) }

    /// Sends a request and waits for the answer.
    ///
    /// - Parameter request: the request.
    /// - Returns: the answer, of any status, with a body of at most ``CurlSettings/bodyLimit`` bytes.
    /// - Throws: ``CurlError``, or `CancellationError` if the task is cancelled.
    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let address = try RequestAddress(request, settings)
        let exchange = Exchange(request, address, deadline: .now + settings.requestLimit)
        return try await withTaskCancellationHandler {
            // A request that is already cancelled is not queued.
            if !exchange.isOver { queue.add(exchange) }
            return try await exchange.answer()
        } onCancel: {
            exchange.finish(.failure(CancellationError()))
            queue.cancel()
        }
    }

    /// Ends all requests with ``CurlError/closed``, and waits until all connections and the thread have ended.
    ///
    /// A released transport closes by itself; call this if the time matters, as at the end of a program.
    public func close() async {
        await withCheckedContinuation { waiter in queue.close { waiter.resume() } }
    }
}
#endif
