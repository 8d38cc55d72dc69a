/// The exit codes of every command: 0 means yes or success, 1 no or failure, 2 no answer, and 64 a wrong command line.
package enum ExitCode: Int32, Comparable {
    /// All went well, or the answer is yes.
    case fine = 0
    /// An input failed, or the answer is no.
    case failed = 1
    case unanswered = 2
    case usage = 64

    /// An input is ambiguous, and the command was asked to report that.
    package static let ambiguous = ExitCode.unanswered

    /// No agent can perform the request.
    package static let nobody = ExitCode.unanswered

    /// Whether one code is weaker than another: an error is stronger than an ambiguity.
    package static func < (left: ExitCode, right: ExitCode) -> Bool { left.weight < right.weight }

    private var weight: Int {
        switch self {
        case .fine: 0
        case .unanswered: 1
        case .failed: 2
        case .usage: 3
        }
    }
}
