#if HTTP
public import KiiCloud

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

extension CurlError: CustomStringConvertible {
    /// One line for people, without content of the request or the answer.
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
