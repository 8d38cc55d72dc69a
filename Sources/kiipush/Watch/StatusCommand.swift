import KiiPush
import KiiPushAgent

/// `kiipush status`: the status of a running agent, and whether it is healthy.
struct StatusCommand {
    private var format = ReportFormat.text
    private var directory = ""

    static let table = OptionTable<StatusCommand>([
        .format("text for people (the default), or json: one object on one line") { $0.format = $1 },
        .state { $0.directory = $1 },
    ])

    static func run(_ arguments: [String], _ console: Console) async -> ExitCode {
        let reading = Self.command.read(arguments, by: table, into: StatusCommand(), console) {
            options, operands throws(Arguments.Mistake) in
            try Arguments.none(operands, hint: StateOption.hint)
            options.directory = try StateOption.directory(options.directory)
        }
        guard case .options(let options) = reading else { return reading.code }
        let agent = WatchedAgent(directory: options.directory)
        do throws(WatchedAgent.Silence) {
            let (line, status) = try await agent.status()
            switch options.format {
            case .json: console.print(line)
            case .text:
                let text = StatusText(status: status, width: ScreenSize.current.columns)
                for line in text.lines { console.print(console.ink.status(line)) }
            }
            return status.isHealthy ? .fine : .failed
        } catch {
            return agent.tell(error, "status", console)
        }
    }

    static let command = Command(
        name: "status", summary: "shows an agent's state, and whether it is healthy", usage: ["[OPTION…]"],
        options: table.texts,
        notes: [
            .text(
                "An agent is healthy if it accepts payloads, no store fails, every connection is up, no resource is "
                    + "short, and neither the queue nor the dead-letter store is full. P50 and P99 are percentiles of a route's handling "
                    + "time; WAIT P99 is the time from a message's arrival to its first attempt.")
        ],
        exits: [
            (.fine, "healthy"), (.failed, "not healthy, or no reply within five seconds"),
            (.nobody, "no agent is running"),
        ],
        action: { arguments, console in await run(arguments, console) })
}
