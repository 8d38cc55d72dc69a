/// Why a text is no body of a request that sends a push, and where.
///
/// Names the key and the place, and never holds a value of the text.
public struct MessageBodyError: Error, Sendable, Hashable {
    /// The members on the way to what is wrong, such as `apns.alert.body`; empty for the text as a whole.
    public let path: String

    /// Where, in bytes from the text's first one.
    public let offset: Int

    /// What is wrong, and what to do about it.
    public let detail: String

    init(_ path: String, at offset: Int, _ detail: String) {
        self.path = path
        self.offset = offset
        self.detail = detail
    }
}

extension MessageBodyError: CustomStringConvertible {
    /// The place, the path and the detail, on one line.
    public var description: String { "byte \(offset): \(path.isEmpty ? "" : "\(path): ")\(detail)" }
}
