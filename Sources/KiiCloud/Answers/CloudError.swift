public import KiiPush

/// Why a call to Kii's cloud failed.
///
/// Kii names each reason by an error code and adds further fields, which differ by code. Printing the error shows
/// status and code only, since fields may contain ids and data.
public struct CloudError: Error, Sendable, Hashable {
    /// The reason by name: Kii's own codes, and three of this library's.
    public struct Code: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
        /// The name, such as `OBJECT_NOT_FOUND`.
        public let name: String

        /// Makes a code from its name.
        public init(_ name: String) { self.name = name }

        /// Makes a code from its name.
        public init(stringLiteral name: String) { self.name = name }

        /// The name.
        public var description: String { name }
    }

    /// The reason.
    public let code: Code
    /// The status of the answer; 0 if nothing was sent.
    public let status: Int
    /// The number of seconds to wait before a retry; nil if the server does not say.
    public let retryAfter: Int?

    private let kept: Kept

    init(_ code: Code, status: Int, retryAfter: Int? = nil, message: String = "", fields: KeyedData = [:]) {
        self.code = code
        self.status = status
        self.retryAfter = retryAfter
        kept = Kept(message: message, fields: fields)
    }

    /// Kii's message for people; for this library's own codes, what is wrong.
    public var message: String { kept.message }

    /// Another field of the answer, such as `field` or `objectScope`; a token in the answer is removed.
    public subscript(field: String) -> DataValue? { kept.fields[field] }

    /// Whether the token is invalid or expired, so that a new one may help.
    public var isTokenEnded: Bool { code == .wrongToken || status == 401 && code == .unknown }

    /// Whether the same call may work later: Kii's 503.
    public var isTemporary: Bool { status == 503 }
}

extension CloudError {
    /// Fields that are kept but not printed.
    private struct Kept: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
        let message: String
        let fields: KeyedData

        var description: String { "(not shown)" }
        var customMirror: Mirror { Mirror(self, children: []) }
    }
}

extension CloudError: CustomStringConvertible {
    /// The code and the status, on one line, and a hint where there is one.
    public var description: String {
        var text = Suggestion.shown(code.name)
        if status != 0 { text += " (status \(status))" }
        if let hint = code.hint { text += ": \(hint)" }
        // This library wrote these messages.
        if code == .unsendable || code == .notUnderstood { text += ": \(message)" }
        return text
    }
}
