import Glibc
import KiiPush
import KiiPushLinux

/// What `status`, `tap` and `top` share: the agent of a state directory, and how to ask it.
struct WatchedAgent: Sendable {
    let directory: String

    /// Why an agent did not answer.
    enum Silence: Error {
        /// None runs on the directory.
        case nobody
        /// One does, and does not answer, or not so that it can be understood.
        case silent(String)
    }

    var control: ControlSocket { ControlSocket(state: directory) }

    /// Asks the agent how it is doing.
    ///
    /// - Returns: the line that it answered, and what that says.
    func status() async throws(Silence) -> (line: String, status: AgentStatus) {
        let line: String
        do { line = try await control.firstLine(of: ["status"]).line } catch { throw silence("\(error)") }
        guard let status = AgentStatus(json: line) else { throw .silent("it said '\(escaped(line))'") }
        return (line, status)
    }

    /// Why nobody answered: there is no agent, or one that cannot.
    func silence(_ why: String) -> Silence { AgentState.isTaken(directory) ? .silent(why) : .nobody }

    /// Tells why nobody answered; the exit code for it.
    func tell(_ silence: Silence, _ name: String, _ console: Console) -> ExitCode {
        switch silence {
        case .nobody:
            console.error("kiipush \(name): no agent runs on \(escaped(directory)); --state names another directory")
            return .nobody
        case .silent(let why):
            console.error("kiipush \(name): the agent of \(escaped(directory)) does not answer: \(why)")
            return .failed
        }
    }
}

/// How many columns and rows standard output has.
struct ScreenSize: Equatable {
    var columns: Int
    var rows: Int

    /// The terminal's size; `$COLUMNS`, or 80 by 24, where it is none.
    static var current: ScreenSize {
        var size = winsize()
        if unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 {
            return ScreenSize(columns: Int(size.ws_col), rows: Int(size.ws_row))
        }
        let columns = unsafe getenv("COLUMNS").flatMap { unsafe Int(String(cString: $0)) } ?? 80
        return ScreenSize(columns: min(max(columns, 40), 1000), rows: 24)
    }
}
