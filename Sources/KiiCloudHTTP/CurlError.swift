#if HTTP
public import KiiCloud

/// Why a request has no answer.
public enum CurlError: TransportError, Sendable, Hashable {
    /// The settings or the request cannot be used; nothing was sent.
    case unusable(String)
    /// So many requests wait already that no further one is taken; nothing was sent.
    case full(waiting: Int)
    /// The transport was closed before the request was sent.
    case closed
    /// There is no connection to the server: its name, the network, or its certificate; nothing was sent.
    case unreachable(String)
    /// The time was up; if `wasSent`, the server may have carried out the request all the same.
    case timedOut(wasSent: Bool)
    /// The connection failed, or its end was no HTTP; the server may have carried out the request all the same.
    case lost(String)
    /// The answer is larger than it may be; the server has carried out the request.
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

extension CurlError: CustomStringConvertible {
    /// One line for a person, without anything of the request or the answer.
    public var description: String {
        switch self {
        case .unusable(let what): "the request was not sent: \(what)"
        case .full(let waiting): "the request was not sent: \(waiting) others wait already"
        case .closed: "the request was not sent: the transport is closed"
        case .unreachable(let why): "the server was not reached: \(why)"
        case .timedOut(false): "the server was not reached in time"
        case .timedOut(true): "the server did not answer in time; it may have done what was asked all the same"
        case .lost(let why): "the connection failed; the server may have done what was asked all the same: \(why)"
        case .tooLarge(let limit): "the answer is larger than \(limit) bytes"
        }
    }
}
#endif
