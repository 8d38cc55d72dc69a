/// An error of a handler that describes itself in one line, for logs, traces and dead letters.
///
/// Any other error is shown by its type only, because its text may contain values of the payload.
public protocol ReportedError: Error {
    /// What went wrong, without values of the payload; only the first 1,024 bytes are shown.
    var report: String { get }
    /// How long a server asks its callers to wait; nil, the default, if none does.
    ///
    /// A `PushService` adds it to the pause before the next attempt, at most an hour.
    var requestedPause: Duration? { get }
}

extension ReportedError {
    /// Nil: no server asks to wait.
    public var requestedPause: Duration? { nil }
}

package enum ErrorReport {
    private static let longest = 1024
    private static let longestPause = Duration.seconds(3600)

    /// The report of a ``ReportedError``; of any other error, its type.
    package static func text(_ error: any Error) -> String {
        (error as? any ReportedError)?.report.cut(to: longest) ?? "\(type(of: error))"
    }

    /// The pause that a ``ReportedError`` requests, at most an hour; zero of any other error.
    package static func requestedPause(_ error: any Error) -> Duration {
        min(max((error as? any ReportedError)?.requestedPause ?? .zero, .zero), longestPause)
    }
}
