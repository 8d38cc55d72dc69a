/// The exit codes of every command: each says with 0 that all is fine, with 1 that it is not, with 2 that there is no
/// answer to be had, and with 64 that the command line is wrong.
enum ExitCode: Int32, Comparable {
    /// All went well, or the answer is yes.
    case fine = 0
    /// An input failed, or the answer is no.
    case failed = 1
    /// There is no answer.
    case unanswered = 2
    /// The command line is wrong.
    case usage = 64

    /// An input is ambiguous, and that was to be told.
    static let ambiguous = ExitCode.unanswered

    /// There is no agent that could take what was asked.
    static let nobody = ExitCode.unanswered

    /// Whether one code gives way to another: an error wins over an ambiguity.
    static func < (left: ExitCode, right: ExitCode) -> Bool { left.weight < right.weight }

    private var weight: Int {
        switch self {
        case .fine: 0
        case .unanswered: 1
        case .failed: 2
        case .usage: 3
        }
    }
}
