import KiiPush
import KiiPushDelivery
import KiiPushSQLite
import KiiPushSystem

/// Takes the lines of a command's answer.
package struct DeskConsole: Sendable {
    let print: @Sendable (String) -> Void
    let error: @Sendable (String) -> Void
    /// Whether somebody still waits for the answer.
    let isHeard: @Sendable () -> Bool

    package init(
        print: @escaping @Sendable (String) -> Void, error: @escaping @Sendable (String) -> Void,
        isHeard: @escaping @Sendable () -> Bool = { true }
    ) { (self.print, self.error, self.isHeard) = (print, error, isHeard) }

    func fail(_ text: String, _ code: ExitCode = .failed) -> ExitCode {
        error(text)
        return code
    }
}

/// The session of commands on a state directory: the stores of its running agent, or the files themselves.
package struct StateSession: Sendable {
    let deadLetters: any DeadLetterStore
    /// The agent's service, which enforces the handlers' time limits; nil if none runs.
    var service: PushService?
    /// The agent, for questions about it; nil if none runs.
    var agent: AgentReports?
}

extension AgentState {
    /// The session for commands while no agent runs.
    package func session() throws -> StateSession {
        #if SQLite
        return StateSession(deadLetters: try SQLiteDeadLetterStore(database))
        #else
        throw AgentError("\(escaped(directory)): this kiipush keeps nothing there; build it with the trait SQLite")
        #endif
    }
}

/// Runs a typed command on an agent's session: in the agent's process, or in one that opened its files.
package enum DeskCommand {
    package static func run(
        _ name: String, _ arguments: [String], _ session: StateSession, _ console: DeskConsole
    ) async -> ExitCode {
        switch name {
        case "dead-letters":
            let code = await DeadLetterDesk.run(arguments, session, console)
            if code != .usage { tellWho(session, console) }
            return code
        case "who", "status":
            guard let agent = session.agent else { return console.fail("kiipush: no agent runs here", .nobody) }
            return name == "who" ? who(arguments, agent, console) : status(agent, console)
        default:
            return console.fail("kiipush: the agent does not know the command '\(escaped(name))'", .usage)
        }
    }

    /// Reports which agent has answered, separately from the answer, which scripts read.
    private static func tellWho(_ session: StateSession, _ console: DeskConsole) {
        if let agent = session.agent?.identity {
            console.error(
                "answered by agent \(agent.process), which runs in \(escaped(agent.state)) since \(agent.since)")
        } else {
            console.error("no agent runs here; its files were read")
        }
    }

    private static func status(_ agent: AgentReports, _ console: DeskConsole) -> ExitCode {
        let status = agent.checkedStatus
        console.print(status.json)
        return status.isHealthy ? .fine : .failed
    }

    /// Checks the kill file, and prints the agent's identity and what is off in it as one line of JSON.
    private static func who(_ arguments: [String], _ agent: AgentReports, _ console: DeskConsole) -> ExitCode {
        var identity = agent.identity
        agent.kills?.look()
        identity.killed = agent.receiver.loopGuard?.killed.map(\.description).sorted()
        let target = arguments.first.flatMap { KillTarget($0) }
        identity.instead = target?.lack(of: agent.receiver.routes.map { ($0.id, $0.criteria) })
        console.print(identity.json)
        return .fine
    }
}
