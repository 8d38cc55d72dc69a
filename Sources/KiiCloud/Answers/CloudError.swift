public import KiiPush

/// Why a call to Kii's cloud did not do what it was to do.
///
/// Kii names each reason by an error code, and says more in further fields, which differ by code. Printing the error
/// shows status and code only, since fields may hold ids and data.
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
    /// The status of the answer; 0 when nothing was sent.
    public let status: Int
    /// How many seconds the server wants to be left alone; nil where it does not say.
    public let retryAfter: Int?

    private let kept: Kept

    init(_ code: Code, status: Int, retryAfter: Int? = nil, message: String = "", fields: KeyedData = [:]) {
        self.code = code
        self.status = status
        self.retryAfter = retryAfter
        kept = Kept(message: message, fields: fields)
    }

    /// What Kii says of it, for people; of this library's own codes, what is wrong.
    public var message: String { kept.message }

    /// What else the answer says, such as `field` or `objectScope`; a token that it repeats is left out.
    public subscript(field: String) -> DataValue? { kept.fields[field] }

    /// Whether the token is none, or none any more, so that a new one may help.
    public var isTokenEnded: Bool { code == .wrongToken || status == 401 && code == .unknown }

    /// Whether the same call may work later: Kii's 503.
    public var isTemporary: Bool { status == 503 }
}

extension CloudError {
    /// What is kept and not shown.
    private struct Kept: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
        let message: String
        let fields: KeyedData

        var description: String { "(not shown)" }
        var customMirror: Mirror { Mirror(self, children: []) }
    }
}

extension CloudError: CustomStringConvertible {
    /// The code and the status, on one line, and what to do where that is known.
    public var description: String {
        var text = Suggestion.shown(code.name)
        if status != 0 { text += " (status \(status))" }
        if let hint = code.hint { text += ": \(hint)" }
        // These words are this library's own.
        if code == .unsendable || code == .notUnderstood { text += ": \(message)" }
        return text
    }
}
