public import KiiPush

/// Why a call to Kii's cloud failed.
///
/// Kii names each reason by an error code and adds further fields, which differ by code. Printing the error shows
/// status and code only, since fields may contain ids and data.
public struct CloudError: Error, Sendable, Hashable {
    /// The reason by name: Kii's own codes, and three of this library's.
    public struct Code: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
        /// The name, such as `OBJECT_NOT_FOUND`.
        public var name: String { exact.text }
        private let exact: ExactText

        /// Makes a code from its name.
        public init(_ name: String) { exact = ExactText(name) }

        /// Makes a code from its name.
        public init(stringLiteral name: String) { self.init(name) }

        /// The name.
        public var description: String { name }
    }

    /// The reason.
    public let code: Code
    /// The status of the answer; 0 if nothing was sent.
    public let status: Int
    /// The number of seconds to wait before a retry; nil if the server does not say, or names a date instead.
    public let retryAfter: Int?
    /// Kii's message for people; for this library's own codes, what is wrong.
    public let message: String
    private let fields: KeyedData

    init(_ code: Code, status: Int, retryAfter: Int? = nil, message: String = "", fields: KeyedData = [:]) {
        self.code = code
        self.status = status
        self.retryAfter = retryAfter
        self.message = message
        self.fields = fields
    }

    /// Another field of the answer, such as `field` or `objectScope`; a token in the answer is removed.
    public subscript(field: String) -> DataValue? { fields[field] }

    /// Whether the token is invalid or expired, so that a new one may help.
    public var isTokenEnded: Bool { code == .wrongToken || status == 401 && code == .unknown }

    /// Whether the same call may work later: Kii's 503.
    public var isTemporary: Bool { status == 503 }
}

extension CloudError: CustomStringConvertible, CustomReflectable {
    /// The code and the status, on one line, and a hint where there is one.
    public var description: String {
        var text = Suggestion.shown(code.name)
        if status != 0 { text += " (status \(status))" }
        if let hint { text += ": \(hint)" }
        // This library wrote these messages.
        if code == .unsendable || code == .notUnderstood { text += ": \(message)" }
        return text
    }

    /// What to do about it, if the code does not say.
    private var hint: String? {
        switch code {
        case _ where isTokenEnded: "the token is invalid, or belongs to another app; get a new one"
        case .unauthorized: "the token's owner has no right to do this"
        case .objectVersionIsStale: "the object has changed since; read it again"
        case .tooManyRequests: "Kii asks not to retry automatically; send less"
        case .filterNotFound: "there is no such bucket"
        case _ where isTemporary: "the server is not available at the moment; try again later"
        case .unknown where status < 400 || status == 404, .notUnderstood:
            "another server than Kii's may have answered; check the app's site"
        default: nil
        }
    }

    /// Nothing but the description.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension CloudError: ReportedError {
    /// The same line.
    public var report: String { description }

    /// ``retryAfter``; half a minute after a 429 that names no time.
    public var requestedPause: Duration? {
        retryAfter.map { .seconds($0) } ?? (code == .tooManyRequests ? .seconds(30) : nil)
    }
}

// Those of Kii's error codes that a program acts on, by status. The set is open: compare with the text of any other.
extension CloudError.Code {
    // Codes of this library.

    /// The request could not be made: an id is invalid in a path, a token in a header, or a number in the body.
    public static let unsendable: Self = "UNSENDABLE"
    /// The answer is not what Kii documents.
    public static let notUnderstood: Self = "NOT_UNDERSTOOD"
    /// A refusal without a code.
    public static let unknown: Self = "UNKNOWN"
    /// Status 429, which has no code: too many requests.
    ///
    /// Kii asks clients not to retry automatically. A service that runs the handler again waits first, see
    /// ``CloudError/requestedPause``.
    public static let tooManyRequests: Self = "TOO_MANY_REQUESTS"

    // 401 and 403

    /// The token's owner has no permission for this.
    public static let unauthorized: Self = "UNAUTHORIZED"
    /// The token is invalid or expired.
    public static let wrongToken: Self = "WRONG_TOKEN"

    // 404

    /// There is no such user.
    public static let userNotFound: Self = "USER_NOT_FOUND"
    /// There is no such thing.
    public static let thingNotFound: Self = "THING_NOT_FOUND"
    /// There is no such group.
    public static let groupNotFound: Self = "GROUP_NOT_FOUND"
    /// There is no such object.
    public static let objectNotFound: Self = "OBJECT_NOT_FOUND"
    /// The bucket of a subscription does not exist.
    public static let filterNotFound: Self = "FILTER_NOT_FOUND"
    /// There is no such installation.
    public static let installationNotFound: Self = "INSTALLATION_NOT_FOUND"
    /// There is no such subscription.
    public static let pushSubscriptionNotFound: Self = "PUSH_SUBSCRIPTION_NOT_FOUND"

    // 409

    /// The object was changed after the named version.
    public static let objectVersionIsStale: Self = "OBJECT_VERSION_IS_STALE"
    /// The object already exists.
    public static let objectAlreadyExists: Self = "OBJECT_ALREADY_EXISTS"
    /// The topic already exists.
    public static let topicAlreadyExists: Self = "TOPIC_ALREADY_EXISTS"
    /// The subscription already exists; one of Kii's guides states the status 404.
    public static let pushSubscriptionAlreadyExists: Self = "PUSH_SUBSCRIPTION_ALREADY_EXISTS"
}
