/// An error of a handler that says in a line what went wrong, for logs, traces and dead letters.
///
/// Of any other error only the type is shown: its text may hold what the handler read from the payload.
public protocol ReportedError: Error {
    /// What went wrong, without a value of the payload; more than 1,024 bytes of it are not shown.
    var report: String { get }
}

/// What reports say of an error.
package enum ErrorReport {
    private static let longest = 1024

    /// What an error says of itself if it is a ``ReportedError``, else its type.
    package static func text(_ error: any Error) -> String {
        guard let report = (error as? any ReportedError)?.report else { return "\(type(of: error))" }
        if report.utf8.count <= longest { return report }
        return String(decoding: report.utf8.prefix(longest), as: UTF8.self) + "…"
    }
}
