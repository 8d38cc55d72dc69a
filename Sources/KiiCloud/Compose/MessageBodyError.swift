public import KiiPush

/// Why a text is not a valid body of a request that sends a push, and where.
///
/// Names the key and the position, and never contains a value of the text.
public struct MessageBodyError: Error, Sendable, Hashable {
    /// The path of the wrong member, such as `apns.alert.body`; empty for the text as a whole.
    public let path: String

    /// The position, in bytes from the start of the text.
    public let offset: Int

    /// What is wrong, and how to fix it.
    public let detail: String

    init(_ path: String, at offset: Int, _ detail: String) {
        self.path = path
        self.offset = offset
        self.detail = detail
    }
}

extension MessageBodyError: ReportedError, CustomStringConvertible {
    /// The place, the path and the detail, on one line.
    public var description: String { "byte \(offset): \(path.isEmpty ? "" : "\(path): ")\(detail)" }

    /// The same line.
    public var report: String { description }
}
