/// Why a program that a rule runs did not handle a message; says nothing of the message.
@nonexhaustive
public enum ProgramError: Error, Sendable, Hashable {
    /// There is no such program that may be run, on `PATH` or at the path that the rule has.
    case notFound(program: String)
    /// It cannot be run, or its end cannot be learnt.
    case cannotRun(program: String, ErrorNumber)
    /// It ended with an exit status other than 0.
    case exited(program: String, status: Int32)
    /// A signal ended it.
    case signaled(program: String, signal: Int32)
    /// It was ended by us, since its time was over or the service stops.
    case stopped(program: String)
    /// The message could not be printed.
    case cannotPrint(ErrorNumber)
}

extension ProgramError: CustomStringConvertible {
    /// One line for a person: "reload: ended with exit status 1".
    public var description: String {
        switch self {
        case .notFound(let program): "\(EscapedText(program)): not found"
        case .cannotRun(let program, let number): "\(EscapedText(program)): cannot be run: \(number)"
        case .exited(let program, let status): "\(EscapedText(program)): ended with exit status \(status)"
        case .signaled(let program, let signal): "\(EscapedText(program)): ended by signal \(signal)"
        case .stopped(let program): "\(EscapedText(program)): stopped before it was done"
        case .cannotPrint(let number): "the message cannot be printed: \(number)"
        }
    }
}
