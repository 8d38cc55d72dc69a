import KiiPush
import KiiPushAgent

/// Who uses a state directory, as far as another process can determine.
enum AgentPresence: Sendable {
    case agent(AgentIdentity)
    /// An agent that uses the directory, but does not identify itself.
    case silent(String)
    /// This user may not ask, for this reason, so that nobody knows whether there is one.
    case unknown(String)
    case nobody

    /// Whether it is known to have the target.
    var knows: Bool { if case .agent(let agent) = self { agent.isKnown == true } else { false } }

    /// Why nothing matches the target in it; nil if something does, or if that is unknown.
    var lack: String? {
        if case .agent(let agent) = self, agent.isKnown == false { agent.instead ?? "unknown target" } else { nil }
    }

    /// Whether it is known to have nothing to switch off: the target, or a loop guard.
    var hasNothing: Bool {
        if case .agent(let agent) = self { agent.isKnown == false || agent.killed == nil } else { false }
    }

    /// Asks a directory's agent for its identity, for at most `patience`; it checks its kill file before it answers.
    static func of(
        _ directory: String, target: KillTarget? = nil, patience: Duration = ControlSocket.patience,
        ask: (ControlSocket, [String], Duration) async throws -> (code: Int32, line: String) = {
            try await $0.firstLine(of: $1, patience: $2)
        }
    ) async -> AgentPresence {
        let end = ContinuousClock.now + patience
        while true {
            let silence: any Error
            do {
                let words = ["who"] + (target.map { [$0.description] } ?? [])
                let (code, line) = try await ask(
                    ControlSocket(state: directory), words, ContinuousClock.now.duration(to: end))
                if code == ExitCode.fine.rawValue, let agent = AgentIdentity(json: line) { return .agent(agent) }
                silence = AgentError("it said '\(escaped(line))'")
            } catch { silence = error }
            // The lock distinguishes an agent that hangs, or is only just starting, from none.
            switch AgentState.usage(of: directory, silence) {
            case .nobody: return .nobody
            case .unknown(let why): return .unknown(why)
            case .somebody: guard .now < end else { return .silent("\(silence)") }
            }
            try? await Task.sleep(for: .milliseconds(50))
        }
    }
}
