public import KiiPush
public import KiiPushSystem

/// Why a program did not handle a message, or did not show an alert; contains nothing of the message except what the
/// program prints.
@nonexhaustive
public enum ProgramError: Error, Sendable, Hashable {
    /// There is no program of this name on `PATH`, or at the rule's path, which is absolute here.
    case notFound(program: String)
    /// The program exists, by its absolute path, but cannot be started: it is not executable, its interpreter or its
    /// loader is missing, it is not a program.
    case unusable(program: String, why: String)
    /// It cannot be run, or its end cannot be determined.
    case cannotRun(program: String, ErrorNumber)
    /// It ended with an exit status other than 0; `said` contains the last lines of its standard error, at most four
    /// and 512 bytes, without control characters.
    case exited(program: String, status: Int32, said: [String] = [])
    /// A signal ended it.
    case signaled(program: String, signal: Int32, said: [String] = [])
    /// This process ended it, because its time limit passed or the service stops.
    case stopped(program: String, said: [String] = [])
    /// The message or the alert could not be printed.
    case cannotPrint(ErrorNumber)

    /// Why a program, called `name` in reports, could not be started.
    init(_ program: String, _ number: ErrorNumber, name: String? = nil) {
        guard let problem = ProgramProblem.find(program, after: number) else {
            self = .cannotRun(program: name ?? program, number)
            return
        }
        self =
            problem.why.map { .unusable(program: problem.program, why: $0) } ?? .notFound(program: problem.program)
    }
}

extension ProgramError: CustomStringConvertible {
    /// One line for people: "reload: ended with exit status 1, saying: no such device".
    public var description: String {
        switch self {
        case .notFound(let program): "\(EscapedText(program)): \(ProgramProblem.missing(program))"
        case .unusable(let program, let why): "\(EscapedText(program)): \(why)"
        case .cannotRun(let program, let number): "\(EscapedText(program)): cannot be run: \(number)"
        case .exited(let program, let status, let said):
            "\(EscapedText(program)): ended with exit status \(status)\(Self.words(said))"
        case .signaled(let program, let signal, let said):
            "\(EscapedText(program)): ended by signal \(signal)\(Self.words(said))"
        case .stopped(let program, let said):
            "\(EscapedText(program)): stopped before it was done\(Self.words(said))"
        case .cannotPrint(let number): "it cannot be printed: \(number)"
        }
    }

    private static func words(_ said: [String]) -> String {
        said.isEmpty ? "" : ", saying: \(said.joined(separator: " / "))"
    }
}

extension ProgramError: ReportedError {
    /// The same line.
    public var report: String { description }
}
