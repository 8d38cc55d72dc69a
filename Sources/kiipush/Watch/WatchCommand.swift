import CLibrary
import KiiPush
import KiiPushAgent

/// The common part of `status`, `tap` and `top`: the agent of a state directory, and how to ask it.
struct WatchedAgent: Sendable {
    let directory: String

    /// Why an agent did not answer.
    enum Silence: Error {
        /// No agent runs on the directory.
        case nobody
        /// An agent runs, but does not answer, or its answer is invalid.
        case silent(String)
    }

    var control: ControlSocket { ControlSocket(state: directory) }

    /// Asks the agent for its status; returns the line of the answer, and the parsed status.
    func status() async throws(Silence) -> (line: String, status: AgentStatus) {
        let line: String
        do { line = try await control.firstLine(of: ["status"]).line } catch { throw silence("\(error)") }
        guard let status = AgentStatus(json: line) else { throw .silent("it said '\(escaped(line))'") }
        return (line, status)
    }

    /// Why there is no answer: there is no agent, or it cannot answer.
    func silence(_ why: String) -> Silence { AgentState.isTaken(directory) ? .silent(why) : .nobody }

    /// Reports why there is no answer; returns the exit code for it.
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

/// The columns and rows of standard output.
struct ScreenSize: Equatable {
    var columns: Int
    var rows: Int

    /// The terminal's size; `$COLUMNS`, or 80 by 24, without a terminal.
    static var current: ScreenSize {
        var size = winsize()
        if unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 {
            return ScreenSize(columns: Int(size.ws_col), rows: Int(size.ws_row))
        }
        let columns = unsafe getenv("COLUMNS").flatMap { unsafe Int(String(cString: $0)) } ?? 80
        return ScreenSize(columns: min(max(columns, 40), 1000), rows: 24)
    }
}
