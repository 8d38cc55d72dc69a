/// A fault that a ``TestCloud`` applies to one request.
///
/// ``largeBody(_:)``, ``largeHeaders(_:)`` and ``slow`` change only what a ``TestCloudServer`` sends: a cloud that is
/// itself the transport returns its usual answer.
@nonexhaustive
public enum TestFault: Sendable, Hashable {
    /// It answers with a status without performing the request; without a code there is no body, as with Kii's 429.
    case status(Int, code: String? = nil, retryAfter: Int? = nil)
    /// It closes the connection.
    case close(Point)
    /// It sends nothing more, and keeps the connection open.
    case stall(Point)
    /// It answers with bytes that are not HTTP, without performing the request.
    case rubbish
    /// It performs the request, and answers with a body of this many bytes.
    case largeBody(Int)
    /// It performs the request, and answers with this many bytes of headers.
    case largeHeaders(Int)
    /// It performs the request, and sends its answer byte by byte, with pauses of 20 milliseconds.
    case slow

    /// The point at which an answer ends too early.
    public enum Point: Sendable, Hashable, CaseIterable {
        /// Before the request is performed.
        case work
        /// After the request is performed, before the answer.
        case answer
        /// Within the answer's headers.
        case headers
        /// Within the answer's body; before it if there is none.
        case body
    }

    /// Whether the request is still performed.
    var doesWork: Bool {
        switch self {
        case .status, .rubbish: false
        case .close(let point), .stall(let point): point != .work
        case .largeBody, .largeHeaders, .slow: true
        }
    }
}
