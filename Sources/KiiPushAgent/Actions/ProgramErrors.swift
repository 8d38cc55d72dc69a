import KiiPush
package import KiiPushSystem
import Synchronization

/// A program was not started, or a message not printed, because the system is short of open files, memory, processes or
/// space.
///
/// A service does not count the attempt.
package struct ProgramShortage: ResourceShortage, ReportedError, Sendable, Hashable, CustomStringConvertible {
    /// The program's name in reports; `print` for a message that was to be printed.
    package let program: String
    /// The missing resource.
    package let kind: Shortage.Kind
    /// The system's error number.
    package let number: ErrorNumber

    /// One line for people.
    package var description: String {
        "\(EscapedText(program)): cannot \(kind == .output ? "write" : "be started") now: \(number)"
    }

    /// The same line.
    package var report: String { description }
}

/// Decides whether programs may be started: after a shortage, starts pause for a while and are then retried.
final class ProgramStarts: Sendable {
    private struct State {
        /// The shortage of the last start; nil if it succeeded.
        var lack: (kind: Shortage.Kind, number: ErrorNumber)?
        var pause = Duration.zero
        var pausedUntil = MonotonicInstant(nanoseconds: 0)
    }

    private static let firstPause = Duration.milliseconds(50)
    private static let longestPause = Duration.seconds(5)

    private let state = Mutex(State())
    private let shortages: Shortages
    private let clock: any ReceiverClock

    init(_ shortages: Shortages, clock: any ReceiverClock = SystemClock()) {
        (self.shortages, self.clock) = (shortages, clock)
    }

    /// Refuses a start during a pause.
    func check(_ program: String) throws(ProgramShortage) {
        let now = clock.now
        guard let lack = state.withLock({ now < $0.pausedUntil ? $0.lack : nil }) else { return }
        throw ProgramShortage(program: program, kind: lack.kind, number: lack.number)
    }

    /// Records that a start failed; nil if the reason is not a shortage.
    func failed(_ program: String, _ number: ErrorNumber) -> ProgramShortage? {
        guard let kind = Shortage.Kind(number) else { return nil }
        let now = clock.now
        state.withLock { state in
            state.lack = (kind, number)
            // Starts that ran at the same time and failed too do not extend the pause.
            if now < state.pausedUntil { return }
            state.pause = min(max(state.pause * 2, Self.firstPause), Self.longestPause)
            state.pausedUntil = now.advanced(by: state.pause)
        }
        shortages.begin(kind, "programs cannot be started (\(number)); their messages wait")
        return ProgramShortage(program: program, kind: kind, number: number)
    }

    func succeeded() {
        let lack = state.withLock { state in
            defer { state = State() }
            return state.lack
        }
        guard lack != nil else { return }
        shortages.end(.descriptors)
        shortages.end(.memory)
    }
}

/// Why a program did not handle a message, or did not show an alert; contains nothing of the message except what the
/// program prints.
package enum ProgramError: Error, Sendable, Hashable {
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

    /// How a program ended; nil if it succeeded.
    init?(_ end: ChildProcess.End, program: String, said: [String] = []) {
        switch end {
        case .exited(0): return nil
        case .exited(let status): self = .exited(program: program, status: status, said: said)
        case .signaled(let signal): self = .signaled(program: program, signal: signal, said: said)
        case .timedOut: self = .stopped(program: program, said: said)
        }
    }

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
    package var description: String {
        switch self {
        case .notFound(let program): "\(EscapedText(program)): \(ProgramProblem.missing(program))"
        case .unusable(let program, let why): "\(EscapedText(program)): \(why)"
        case .cannotRun(let program, let number): "\(EscapedText(program)): cannot be run: \(number)"
        case .exited(let program, let status, let said):
            "\(EscapedText(program)): ended with exit status \(status)\(Self.words(said))"
        case .signaled(let program, let signal, let said):
            "\(EscapedText(program)): ended by signal \(signal)\(Self.words(said))"
        case .stopped(let program, let said):
            "\(EscapedText(program)): stopped, since its time was over\(Self.words(said))"
        case .cannotPrint(let number): "it cannot be printed: \(number)"
        }
    }

    private static func words(_ said: [String]) -> String {
        said.isEmpty ? "" : ", saying: \(said.joined(separator: " / "))"
    }
}

extension ProgramError: ReportedError {
    /// The same line.
    package var report: String { description }
}
