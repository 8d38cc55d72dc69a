import KiiPush
import KiiPushLinux

/// Who has a state directory, as far as can be learnt from outside.
enum AgentPresence: Sendable {
    /// An agent that answered.
    case agent(AgentIdentity)
    /// One that has the directory, and does not say who it is.
    case silent(String)
    case nobody

    /// Whether it is known to have what it was asked for.
    var knows: Bool { if case .agent(let agent) = self { agent.isKnown == true } else { false } }

    /// Whether it is known to have no such thing.
    var lacks: Bool { if case .agent(let agent) = self { agent.isKnown == false } else { false } }

    /// Asks the agent of a directory who it is; it looks at its kill file before it answers.
    ///
    /// Waits five seconds at most.
    ///
    /// - Parameters:
    ///   - directory: the state directory.
    ///   - target: what the agent is to look for among its routes; nil asks for none.
    /// - Returns: who has the directory.
    static func of(_ directory: String, target: KillTarget? = nil) async -> AgentPresence {
        let end = ContinuousClock.now + ControlSocket.patience
        while true {
            let why: String
            switch await asked(directory, target) {
            case .success(let identity): return .agent(identity)
            case .failure(let error): why = error.description
            }
            // The lock tells one that hangs, or is only just starting, from none.
            guard AgentState.isTaken(directory) else { return .nobody }
            guard .now < end else { return .silent(why) }
            try? await Task.sleep(for: .milliseconds(50))
        }
    }

    private static func asked(_ directory: String, _ target: KillTarget?) async -> Result<AgentIdentity, AgentError> {
        do {
            let (code, line) = try await ControlSocket(state: directory).firstLine(
                of: ["who"] + (target.map { [$0.description] } ?? []))
            if code == ExitCode.fine.rawValue, let identity = AgentIdentity(json: line) { return .success(identity) }
            return .failure(AgentError("it said '\(escaped(line))'"))
        } catch { return .failure(AgentError("\(error)")) }
    }
}
