import KiiPush
import KiiPushDelivery

/// What commands on a state directory work with: the stores of the agent that has it open, or the files themselves.
struct AgentDesk: Sendable {
    let deadLetters: any DeadLetterStore
    /// The running agent's receiver; nil when none runs, and nothing can be handled.
    let receiver: PushReceiver?
    /// Its service, which keeps to the handlers' time limits.
    var service: PushService?
    /// How many messages wait in the inbox for the next agent; nil while one runs.
    var waiting: Int?
    /// The agent whose desk it is; nil when none runs.
    var agent: AgentIdentity?
    /// What the agent's status is made of; nil when none runs.
    var status: StatusSource?
    /// Has the agent look at its kill file, now.
    var lookAtKills: @Sendable () -> Void = {}
}

/// Runs a command that was typed, on the desk of the agent: in its own process, or in one that opened its files.
enum DeskCommand {
    /// The commands that can be sent to an agent.
    static let names = ["dead-letters", "held", "who", "status"]

    static func run(_ name: String, _ arguments: [String], _ desk: AgentDesk, _ console: Console) async -> ExitCode {
        switch name {
        case "dead-letters":
            let code = await DeadLettersCommand.run(arguments, desk, console)
            if code != .usage { tellWho(desk, console) }
            return code
        case "held":
            let code = await HeldCommand.run(arguments, desk, console)
            // Without an agent that is its answer already.
            if code != .usage, desk.agent != nil { tellWho(desk, console) }
            return code
        case "who": return who(arguments, desk, console)
        case "status": return status(desk, console)
        default:
            console.error("kiipush: an agent knows no command '\(escaped(name))'")
            return .usage
        }
    }

    /// Says which agent has answered, beside the answer: scripts read that alone.
    private static func tellWho(_ desk: AgentDesk, _ console: Console) {
        if let agent = desk.agent {
            console.error(
                "answered by agent \(agent.process), which runs in \(escaped(agent.state)) since \(agent.since)")
        } else if desk.waiting != nil {
            console.error("no agent runs here; its files were read")
        }
    }

    /// Says how the agent is doing: one line of JSON.
    private static func status(_ desk: AgentDesk, _ console: Console) -> ExitCode {
        guard let status = desk.status?.status else {
            console.error("kiipush: no agent runs here")
            return .nobody
        }
        console.print(status.json)
        return status.isHealthy ? .fine : .failed
    }

    /// Says which agent this is, and what is off in it, after a look at the kill file: one line of JSON.
    private static func who(_ arguments: [String], _ desk: AgentDesk, _ console: Console) -> ExitCode {
        guard var identity = desk.agent, let receiver = desk.receiver else {
            console.error("kiipush: no agent runs here")
            return .nobody
        }
        desk.lookAtKills()
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
