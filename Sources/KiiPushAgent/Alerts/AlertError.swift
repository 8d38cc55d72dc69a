import KiiPush
public import KiiPushSystem

/// Why an alert was not shown.
@nonexhaustive
public enum AlertError: Error, Sendable, Hashable {
    /// There is no program of this name on `PATH`, or at the given path, which is absolute here.
    case notFound(program: String)
    /// The program exists, by its absolute path, but cannot be started: it is not executable, its interpreter or its
    /// loader is missing, it is not a program.
    case unusable(program: String, why: String)
    /// The program cannot be run, or its end cannot be determined.
    case cannotRun(program: String, ErrorNumber)
    /// The program ended with an exit status other than 0, as `notify-send` does without a desktop.
    case exited(program: String, status: Int32)
    /// A signal ended the program.
    case signaled(program: String, signal: Int32)
    /// The program exceeded its time limit, and was killed.
    case timedOut(program: String, limit: Duration)
    /// The terminal cannot be written to.
    case cannotWrite(ErrorNumber)
}

extension AlertError: CustomStringConvertible {
    /// One line for people: "notify-send: not found on PATH".
    public var description: String {
        switch self {
        case .notFound(let program): "\(EscapedText(program)): \(ProgramProblem.missing(program))"
        case .unusable(let program, let why): "\(EscapedText(program)): \(why)"
        case .cannotRun(let program, let number): "\(EscapedText(program)): cannot be run: \(number)"
        case .exited(let program, let status): "\(EscapedText(program)): ended with exit status \(status)"
        case .signaled(let program, let signal): "\(EscapedText(program)): ended by signal \(signal)"
        case .timedOut(let program, let limit): "\(EscapedText(program)): not done after \(limit)"
        case .cannotWrite(let number): "the alert cannot be written: \(number)"
        }
    }
}
