import KiiPush
import KiiPushAgent

/// The agent of a state directory, and how another process asks it.
struct WatchedAgent: Sendable {
    let directory: String

    typealias Silence = AgentState.Silence

    var control: ControlSocket { ControlSocket(state: directory) }

    /// Asks the agent for its status; returns the line of the answer, and the parsed status.
    func status() async throws(Silence) -> (line: String, status: AgentStatus) {
        let line: String
        do { line = try await control.firstLine(of: ["status"]).line } catch { throw silence(error) }
        guard let status = AgentStatus(json: line) else { throw .silent("it said '\(escaped(line))'") }
        return (line, status)
    }

    func silence(_ error: any Error) -> Silence { AgentState.silence(of: directory, error) }

    func words(_ silence: Silence) -> String {
        switch silence {
        case .nobody: "no agent runs on \(escaped(directory)); --state names another directory"
        case .silent(let why): "the agent of \(escaped(directory)) does not answer: \(why)"
        case .unknown(let why): "whether an agent runs on \(escaped(directory)) is unknown: \(why)"
        }
    }

    /// Reports why there is no answer; returns the exit code for it.
    func tell(_ silence: Silence, _ name: String, _ console: Console) -> ExitCode {
        console.fail("kiipush \(name): \(words(silence))", silence == .nobody ? .nobody : .failed)
    }
}

/// Who uses a state directory, as far as another process can determine: the agent, or why none has answered.
typealias AgentPresence = Result<AgentIdentity, WatchedAgent.Silence>

extension AgentPresence {
    private var agent: AgentIdentity? { try? get() }

    /// Whether something in it matches the target.
    var knows: Bool { agent.map { $0.instead == nil } ?? false }

    /// Why nothing matches the target in it; nil if something does, or if that is unknown.
    var lack: String? { agent?.instead }

    /// Whether it is known to have nothing to switch off: the target, or a loop guard.
    var hasNothing: Bool { agent.map { $0.instead != nil || $0.killed == nil } ?? false }

    /// Asks a directory's agent for its identity, for at most `patience`; it checks its kill file before it answers.
    static func of(
        _ directory: String, target: KillTarget? = nil, patience: Duration = ControlSocket.patience
    ) async -> AgentPresence {
        let agent = WatchedAgent(directory: directory)
        let words = ["who"] + (target.map { [$0.description] } ?? [])
        let end = ContinuousClock.now + patience
        while true {
            let failure: any Error
            do {
                let (code, line) = try await agent.control.firstLine(
                    of: words, patience: ContinuousClock.now.duration(to: end))
                if code == ExitCode.fine.rawValue, let agent = AgentIdentity(json: line) { return .success(agent) }
                failure = AgentError("it said '\(escaped(line))'")
            } catch { failure = error }
            // One that is silent may be only just starting.
            let silence = agent.silence(failure)
            guard case .silent = silence, .now < end else { return .failure(silence) }
            try? await Task.sleep(for: .milliseconds(50))
        }
    }
}
