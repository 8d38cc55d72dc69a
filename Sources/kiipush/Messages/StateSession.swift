import KiiPush
import KiiPushDelivery

/// What commands on a state directory work with: the stores of the agent that has it open, or the files themselves.
struct StateSession: Sendable {
    let deadLetters: any DeadLetterStore
    /// The running agent's receiver; nil when none runs, and nothing can be handled.
    let receiver: PushReceiver?
    /// Its service, which keeps to the handlers' time limits.
    var service: PushService?
    /// How many messages wait in the inbox for the next agent; nil while one runs.
    var waiting: Int?
    /// The agent whose session it is; nil when none runs.
    var agent: AgentIdentity?
    /// What the agent's status is made of; nil when none runs.
    var status: StatusSource?
    /// Has the agent look at its kill file, now.
    var lookAtKills: @Sendable () -> Void = {}
}

/// Runs a command that was typed, on the session of the agent: in its own process, or in one that opened its files.
enum DeskCommand {
    /// The commands that can be sent to an agent.
    static let names = ["dead-letters", "held", "who", "status"]

    static func run(_ name: String, _ arguments: [String], _ session: StateSession, _ console: Console) async
        -> ExitCode
    {
        switch name {
        case "dead-letters":
            let code = await DeadLettersCommand.run(arguments, session, console)
            if code != .usage { tellWho(session, console) }
            return code
        case "held":
            let code = await HeldCommand.run(arguments, session, console)
            // Without an agent that is its answer already.
            if code != .usage, session.agent != nil { tellWho(session, console) }
            return code
        case "who": return who(arguments, session, console)
        case "status": return status(session, console)
        default:
            console.error("kiipush: an agent knows no command '\(escaped(name))'")
            return .usage
        }
    }

    /// Says which agent has answered, beside the answer: scripts read that alone.
    private static func tellWho(_ session: StateSession, _ console: Console) {
        if let agent = session.agent {
            console.error(
                "answered by agent \(agent.process), which runs in \(escaped(agent.state)) since \(agent.since)")
        } else if session.waiting != nil {
            console.error("no agent runs here; its files were read")
        }
    }

    /// Says how the agent is doing: one line of JSON.
    private static func status(_ session: StateSession, _ console: Console) -> ExitCode {
        guard let status = session.status?.status else {
            console.error("kiipush: no agent runs here")
            return .nobody
        }
        console.print(status.json)
        return status.isHealthy ? .fine : .failed
    }

    /// Says which agent this is, and what is off in it, after a look at the kill file: one line of JSON.
    private static func who(_ arguments: [String], _ session: StateSession, _ console: Console) -> ExitCode {
        guard var identity = session.agent, let receiver = session.receiver else {
            console.error("kiipush: no agent runs here")
            return .nobody
        }
        session.lookAtKills()
        identity.killed = receiver.loopGuard?.killed.map(\.description).sorted()
        if let target = arguments.first {
            if case .route(let id)? = KillTarget(target) {
                identity.isKnown = receiver.routes.contains { $0.id.utf8.elementsEqual(id.utf8) }
            } else {
                identity.isKnown = true
            }
        }
        console.print(identity.json)
        return .fine
    }
}
