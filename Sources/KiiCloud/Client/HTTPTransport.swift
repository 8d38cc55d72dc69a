/// Whatever carries requests to Kii's servers: an HTTP client of yours, over TLS.
///
/// Send each request once and as it is, add what HTTP needs, and give back what the server says, whatever its status.
/// Follow no redirection, since the token would follow. Bound time and the size of an answer. Stop when the task is
/// cancelled. Put no header's value into a log. Whatever you throw reaches the caller as it is.
public protocol HTTPTransport: Sendable {
    /// Sends a request and waits for the answer.
    ///
    /// - Parameter request: the request.
    /// - Returns: the answer, of any status.
    /// - Throws: when there is no answer; then nobody knows whether the request was carried out.
    func send(_ request: HTTPRequest) async throws -> HTTPResponse
}

/// An error of a transport that says whether its request may have been carried out.
///
/// Any other error of a transport counts as one of a request that may have been.
public protocol TransportError: Error {
    /// Whether the server may have carried out the request.
    var wasSent: Bool { get }
}

/// Where tokens come from: a file, a login, a thing's onboarding.
public protocol TokenSource: Sendable {
    /// The token to be used.
    ///
    /// - Parameter ended: the token that the server has just refused; nil when nothing is known against the present
    ///   one.
    /// - Returns: a token; the same one again when there is no newer.
    /// - Throws: when there is none.
    func token(replacing ended: Secret?) async throws -> Secret
}

/// A token that does not change.
public struct FixedToken: TokenSource {
    private let fixed: Secret

    /// Uses one token as long as it holds.
    public init(_ token: Secret) { fixed = token }

    /// The token.
    ///
    /// - Parameter ended: the token that was refused.
    /// - Returns: the one token.
    public func token(replacing ended: Secret?) -> Secret { fixed }
}
