#if HTTP
public import KiiCloud

/// Carries requests to Kii's servers over HTTPS, by libcurl.
///
/// ```swift
/// let transport = try CurlTransport()
/// let client = KiiClient(KiiApp(.jp, id: "0123abcd", key: key), transport: transport, tokens: FixedToken(token))
/// ```
///
/// Make one for a program: it has one thread, keeps connections for further requests, and uses HTTP/2 where the server
/// has it. The thread starts with the first request, and ends with its connections when there was nothing to do for
/// ``CurlSettings/idleLimit``.
///
/// A server must prove its name by a certificate; TLS 1.2 or newer is used. The variable `https_proxy` counts, as for
/// other programs; the connection stays encrypted up to the server. No redirection is followed, no cookie kept.
///
/// Each request that changes something is sent once at most: where a kept connection turns out to be closed after the
/// request was sent, the error is ``CurlError/lost(_:)``, since nobody knows what became of it.
///
/// When a task is cancelled, its request's transfer ends at once. Header values and bodies stand in no error.
public final class CurlTransport: HTTPTransport {
    /// How it connects.
    public let settings: CurlSettings

    private let queue: CurlQueue

    /// Makes a transport; it connects with the first request.
    ///
    /// - Parameter settings: how to connect.
    /// - Throws: ``CurlError/unusable(_:)`` for settings of no use.
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
    /// - Throws: ``CurlError``, or `CancellationError` when the task is cancelled.
    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let address = try RequestAddress(request, settings)
        let exchange = Exchange(request, address, deadline: .now + settings.requestLimit)
        return try await withTaskCancellationHandler {
            // Cancelled before it began, it is not even queued.
            if !exchange.isOver { queue.add(exchange) }
            return try await exchange.answer()
        } onCancel: {
            exchange.finish(.failure(CancellationError()))
            queue.cancel()
        }
    }

    /// Ends all requests with ``CurlError/closed``, and waits until all connections and the thread are gone.
    ///
    /// A transport that is let go of closes by itself; call this where it matters when, as at the end of a program.
    public func close() async {
        await withCheckedContinuation { waiter in queue.close { waiter.resume() } }
    }
}
#endif
