import CLibrary
public import KiiPush
public import KiiPushSystem
import Synchronization

/// A program was not started, or a message not printed, because the system is short of open files, memory, processes or
/// space.
///
/// A service does not count the attempt.
public struct ProgramShortage: ResourceShortage, ReportedError, Sendable, Hashable, CustomStringConvertible {
    /// The program's name in reports; `print` for a message that was to be printed.
    public let program: String
    /// The missing resource.
    public let kind: Shortage.Kind
    /// The system's error number.
    public let number: ErrorNumber

    /// One line for people.
    public var description: String {
        "\(EscapedText(program)): cannot \(kind == .output ? "write" : "be started") now: \(number)"
    }

    /// The same line.
    public var report: String { description }
}

/// Decides whether programs may be started: after a shortage, starts pause for a while and are then retried.
final class ProgramStarts: Sendable {
    private struct State {
        /// The shortage of the last start; nil if it succeeded.
        var lack: (kind: Shortage.Kind, number: ErrorNumber)?
        var pause = Duration.zero
        var pausedUntil: MonotonicInstant?
    }

    private static let firstPause = Duration.milliseconds(50)
    private static let longestPause = Duration.seconds(5)

    private let state = Mutex(State())
    private let shortages: Shortages
    private let clock: any ReceiverClock

    init(_ shortages: Shortages, clock: any ReceiverClock = SystemClock()) {
        self.shortages = shortages
        self.clock = clock
    }

    /// Refuses a start during a pause.
    func check(_ program: String) throws(ProgramShortage) {
        let now = clock.now
        let lack = state.withLock { state in
            guard let until = state.pausedUntil, now < until else { return nil as State? }
            return state
        }
        guard let lack = lack?.lack else { return }
        throw ProgramShortage(program: program, kind: lack.kind, number: lack.number)
    }

    /// Records that a start failed; nil if the reason is not a shortage.
    func failed(_ program: String, _ number: ErrorNumber) -> ProgramShortage? {
        guard let kind = Shortage.Kind(number) else { return nil }
        let now = clock.now
        state.withLock { state in
            state.lack = (kind, number)
            // Starts that ran at the same time and failed too do not extend the pause.
            if let until = state.pausedUntil, now < until { return }
            state.pause = min(max(state.pause * 2, Self.firstPause), Self.longestPause)
            state.pausedUntil = now.advanced(by: state.pause)
        }
        shortages.begin(kind, "programs cannot be started (\(number)); their messages wait")
        return ProgramShortage(program: program, kind: kind, number: number)
    }

    /// Records that a program was started.
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
