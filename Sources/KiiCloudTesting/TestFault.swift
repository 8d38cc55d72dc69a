/// What a ``TestCloud`` does wrong with a request, once.
public enum TestFault: Sendable, Hashable {
    /// It answers with a status and does nothing; without a code there is no body, as with Kii's 429.
    case status(Int, code: String? = nil, retryAfter: Int? = nil)
    /// It closes the connection.
    case close(Point)
    /// It says nothing more, and keeps the connection open.
    case stall(Point)
    /// It answers with bytes that are no HTTP, and does nothing.
    case rubbish
    /// It does the work, and answers with a body of so many bytes.
    case largeBody(Int)
    /// It does the work, and answers with so many bytes of headers.
    case largeHeaders(Int)
    /// It does the work, and sends its answer byte by byte, with pauses of 20 milliseconds.
    case slow

    /// Where an answer ends too early.
    public enum Point: Sendable, Hashable, CaseIterable {
        /// Before the work is done.
        case work
        /// When the work is done, and before the answer.
        case answer
        /// Within the answer's headers.
        case headers
        /// Within the answer's body; before it, where there is none.
        case body
    }

    /// Whether the work is done all the same.
    var doesWork: Bool {
        switch self {
        case .status, .rubbish: false
        case .close(let point), .stall(let point): point != .work
        case .largeBody, .largeHeaders, .slow: true
        }
    }
}
