#if HTTP
public import KiiCloud
public import KiiPush

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
/// Cancelling a task ends its transfer at once. Errors contain no header values or bodies, and no password of a proxy.
public final class CurlTransport: HTTPTransport {
    /// How it connects.
    public let settings: CurlSettings

    private let queue: CurlQueue

    /// Makes a transport; it connects with the first request.
    ///
    /// - Throws: ``CurlError/unusable(_:)`` for invalid settings.
    public init(_ settings: CurlSettings = CurlSettings()) throws(CurlError) {
        try settings.check()
        self.settings = settings
        queue = CurlQueue(settings)
    }

    deinit { queue.close(then: nil) }

    /// Sends a request and returns its answer, of any status, with a body of at most ``CurlSettings/bodyLimit`` bytes.
    ///
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

/// Why a request got no answer.
@nonexhaustive
public enum CurlError: TransportError, Sendable, Hashable {
    /// The settings or the request are invalid; nothing was sent.
    case unusable(String)
    /// The queue is full with this many waiting requests; nothing was sent.
    case full(waiting: Int)
    /// The transport was closed before the request was sent.
    case closed
    /// The server cannot be reached: its name, the network, or its certificate failed; nothing was sent.
    case unreachable(String)
    /// The time limit passed; if `wasSent`, the server may still have carried out the request.
    case timedOut(wasSent: Bool)
    /// The connection failed, or its answer was not HTTP; the server may still have carried out the request.
    case lost(String)
    /// The answer exceeds its size limit; the server has carried out the request.
    case tooLarge(limit: Int)

    /// Whether the server may have carried out the request.
    public var wasSent: Bool {
        switch self {
        case .unusable, .full, .closed, .unreachable: false
        case .timedOut(let wasSent): wasSent
        case .lost, .tooLarge: true
        }
    }
}

extension CurlError: ReportedError, CustomStringConvertible {
    /// The same line as the description.
    public var report: String { description }

    /// One line for people, without content of the request or the answer.
    public var description: String {
        switch self {
        case .unusable(let what): "the request was not sent: \(what)"
        case .full(let waiting): "the request was not sent: \(waiting) others wait already"
        case .closed: "the request was not sent: the transport is closed"
        case .unreachable(let why): "the server was not reached: \(why)"
        case .timedOut(false): "the server was not reached in time"
        case .timedOut(true): "the request was sent, and the server did not answer in time"
        case .lost(let why): "the connection failed after the request was sent: \(why)"
        case .tooLarge(let limit): "the answer is larger than \(limit) bytes"
        }
    }
}
#else
/// Carries requests over HTTPS; not available in this build.
@available(*, unavailable, message: "enable the trait HTTP of kii-push, and install Debian's libcurl4-openssl-dev")
public enum CurlTransport {}
#endif
