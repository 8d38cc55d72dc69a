/// Carries requests to Kii's servers: an HTTP client of yours, over TLS.
///
/// Send each request once and unchanged, add what HTTP needs, and return the server's answer, whatever its status.
/// Follow no redirection, since the token would follow. Limit the time and the size of an answer. Stop when the task is
/// cancelled. Do not log header values. Whatever you throw reaches the caller unchanged.
public protocol HTTPTransport: Sendable {
    /// Sends a request and returns its answer, of any status.
    ///
    /// - Throws: if there is no answer; the request may or may not have been carried out.
    func send(_ request: HTTPRequest) async throws -> HTTPResponse
}

/// A transport error that says whether the server may have carried out the request.
///
/// For any other error, the request counts as possibly carried out.
public protocol TransportError: Error {
    /// Whether the server may have carried out the request.
    var wasSent: Bool { get }
}

/// A source of tokens: a file, a login, a thing's onboarding.
public protocol TokenSource: Sendable {
    /// The current token; the same one again if there is no newer than `ended`, which the server has just refused; nil
    /// if the current one is not known to be bad.
    ///
    /// - Throws: if there is none.
    func token(replacing ended: Secret?) async throws -> Secret
}

/// A token that does not change.
public struct FixedToken: TokenSource {
    private let fixed: Secret

    /// Uses one token as long as it is valid.
    public init(_ token: Secret) { fixed = token }

    /// The one token.
    public func token(replacing ended: Secret?) -> Secret { fixed }
}
