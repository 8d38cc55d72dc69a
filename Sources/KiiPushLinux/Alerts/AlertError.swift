/// Why an alert was not shown.
@nonexhaustive
public enum AlertError: Error, Sendable, Hashable {
    /// There is no such program that may be run, on `PATH` or at the path that was given.
    case notFound(program: String)
    /// The program cannot be run, or its end cannot be learnt.
    case cannotRun(program: String, ErrorNumber)
    /// The program ended with an exit status other than 0; `notify-send` does so where no desktop listens.
    case exited(program: String, status: Int32)
    /// A signal ended the program.
    case signaled(program: String, signal: Int32)
    /// The program was still running at the end of its time, and was killed.
    case timedOut(program: String, limit: Duration)
    /// The terminal cannot be written to.
    case cannotWrite(ErrorNumber)
}

extension AlertError: CustomStringConvertible {
    /// One line for a person: "notify-send: not found".
    public var description: String {
        switch self {
        case .notFound(let program): "\(EscapedText(program)): not found"
        case .cannotRun(let program, let number): "\(EscapedText(program)): cannot be run: \(number)"
        case .exited(let program, let status): "\(EscapedText(program)): ended with exit status \(status)"
        case .signaled(let program, let signal): "\(EscapedText(program)): ended by signal \(signal)"
        case .timedOut(let program, let limit): "\(EscapedText(program)): not done after \(limit)"
        case .cannotWrite(let number): "the alert cannot be written: \(number)"
        }
    }
}
