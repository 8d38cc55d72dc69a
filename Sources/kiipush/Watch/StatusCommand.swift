import KiiPush
import KiiPushLinux

/// `kiipush status`: how a running agent is doing, and whether it is healthy.
enum StatusCommand {
    static func run(_ arguments: [String], _ console: Console) async -> ExitCode {
        var arguments = Arguments(arguments)
        var (format, directory) = (ReportFormat.text, String?.none)
        let agent: WatchedAgent
        do throws(Arguments.Mistake) {
            while let option = try arguments.nextOption() {
                switch option {
                case "--format": format = try arguments.value(of: option, among: ReportFormat.choices)
                case "--state": directory = try arguments.value(of: option)
                case "--help", "-h":
                    console.print(help)
                    return .fine
                default: throw Arguments.Mistake(unknown: option, known: ["--format", "--state"])
                }
            }
            if let operand = arguments.operands.first {
                throw Arguments.Mistake(text: "'\(escaped(operand))' is no option; the directory goes behind --state")
            }
            agent = WatchedAgent(directory: try WatchedAgent.directory(directory))
        } catch {
            console.error("kiipush status: \(error.text); try 'kiipush status --help'")
            return .usage
        }
        do throws(WatchedAgent.Silence) {
            let (line, status) = try await agent.status()
            switch format {
            case .json: console.print(line)
            case .text:
                let text = StatusText(status: status, width: ScreenSize.current.columns)
                for line in text.lines { console.print(line) }
            }
            return status.isHealthy ? .fine : .failed
        } catch {
            return agent.tell(error, "status", console)
        }
    }

    static let help = """
        kiipush status: how a running agent is doing

        usage: kiipush status [--format text|json] [--state DIR]

          --format FORMAT  text for people (the default), or json: one object on one line
          --state DIR      the agent's state directory; \(StateCommand.standardDirectory)

        Healthy is: the agent takes payloads in, every link is up, nothing is short, the queue and the dead letters
        have room. P50 and P99 are what a route's handler took, half of the times and in 99 of 100; WAIT P99 is from a
        message's arrival to its first attempt. Exit codes: 0 healthy; 1 not healthy, or no answer within five seconds;
        2 no agent there; 64 wrong usage.
        """
}
