import Glibc
public import KiiPush
public import KiiPushDelivery
import Synchronization

/// A program was not started, or a message not printed, since the system lacks what it takes: open files, memory,
/// processes or room.
///
/// A service does not count the attempt.
public struct ProgramShortage: ResourceShortage, ReportedError, Sendable, Hashable, CustomStringConvertible {
    /// What reports call the program; `print` for a message that was to be printed.
    public let program: String
    /// What is lacking.
    public let kind: Shortage.Kind
    /// The number that the system gave.
    public let number: ErrorNumber

    /// One line for a person.
    public var description: String {
        "\(EscapedText(program)): cannot \(kind == .output ? "write" : "be started") now: \(number)"
    }

    /// The same line.
    public var report: String { description }
}

/// Whether programs are started now: after a failure for want of something nobody tries for a while, and then again.
final class ProgramStarts: Sendable {
    private struct State {
        /// What the last start lacked; nil when it went well.
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

    /// Refuses a start while nobody is to try.
    func check(_ program: String) throws(ProgramShortage) {
        let now = clock.now
        let lack = state.withLock { state in
            guard let until = state.pausedUntil, now < until else { return nil as State? }
            return state
        }
        guard let lack = lack?.lack else { return }
        throw ProgramShortage(program: program, kind: lack.kind, number: lack.number)
    }

    /// Takes down that a start failed; nil when it did for another reason than a lack.
    func failed(_ program: String, _ number: ErrorNumber) -> ProgramShortage? {
        guard let kind = Shortage.Kind(number) else { return nil }
        let now = clock.now
        state.withLock { state in
            state.lack = (kind, number)
            // Those that were started side by side and failed with it make it no longer.
            if let until = state.pausedUntil, now < until { return }
            state.pause = min(max(state.pause * 2, Self.firstPause), Self.longestPause)
            state.pausedUntil = now.advanced(by: state.pause)
        }
        shortages.begin(kind, "programs cannot be started (\(number)); their messages wait")
        return ProgramShortage(program: program, kind: kind, number: number)
    }

    /// Takes down that a program was started.
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
