import KiiPushLinux

/// The command line tool: looks at payloads, shows what the receiver does, and switches off what must stop.
@main
struct Tool {
    static func main() async {
        let code = await run(Array(CommandLine.arguments.dropFirst()), Console.standard)
        exitProcess(code)
    }

    /// Runs one command line and returns the exit code.
    static func run(_ arguments: [String], _ console: Console) async -> ExitCode {
        guard let command = arguments.first else {
            console.error(help)
            return .usage
        }
        let rest = Array(arguments.dropFirst())
        if command == "help", case let wanted = rest.prefix(while: { !$0.hasPrefix("-") }), !wanted.isEmpty {
            return await run(wanted + ["--help"], console)
        }
        switch command {
        case "receive": return await ReceiveCommand.run(rest, console)
        case "dead-letters", "held": return await StateCommand.run(command, rest, console)
        case "status": return await StatusCommand.run(rest, console)
        case "tap": return await TapCommand.run(rest, console)
        case "top": return await TopCommand.run(rest, console)
        case "demo": return await DemoCommand.run(rest, console)
        case "inspect": return InspectCommand.run(rest, console)
        case "rules": return await RulesCommand.run(rest, console)
        case "kill": return await KillCommand.kill(rest, console)
        case "revive": return await KillCommand.revive(rest, console)
        case "help", "--help", "-h":
            console.print(help)
            return .fine
        case "--version", "-V":
            console.print("kiipush \(version)")
            return .fine
        default:
            console.error("kiipush: " + Arguments.unknown(command: command, known: commands))
            return .usage
        }
    }

    private static let commands = [
        "demo", "inspect", "rules", "receive", "status", "tap", "top", "dead-letters", "held", "kill", "revive", "help",
    ]

    /// The version of the tool and of the libraries that it is built with.
    static let version = "0.1.0"

    static let help = """
        kiipush: looks at Kii push payloads and shows what a receiver does with them

        usage: kiipush COMMAND [OPTION…]

          demo      sends documented payloads of every kind through a receiver and tells what happens
          inspect   says of a payload whether it is a Push to App, a Push to User or a Direct Push, and why
          rules     tests, lints, explains, compares and draws a rules file
          receive   takes pushes in and does what a rules file says, until it is stopped
          status    says how an agent is doing, and whether it is healthy
          tap       shows an agent's messages as they end, each with its outcome and the reason
          top       shows what an agent does, alive on a terminal
          dead-letters
                    shows, replays and drops the messages that an agent has put aside
          held      shows, releases and drops the messages that an agent's loop guard holds
          kill      switches off a route, a bucket or everything in a program that runs, for a time
          revive    switches it on again
          help      shows this, or with a command's name that command's help
          --version, -V
                    prints the version

        'kiipush COMMAND --help' tells more about a command.
        Exit codes: 0 fine; 1 an input or a test failed; 2 ambiguous under --strict,
        or no agent there; 64 wrong usage.
        """
}

/// The exit codes of every command.
enum ExitCode: Int32, Comparable {
    /// All went well.
    case fine = 0
    /// An input failed.
    case failed = 1
    /// An input is ambiguous, and that was to be told.
    case ambiguous = 2
    /// The command line is wrong.
    case usage = 64

    /// There is no agent that could take what was asked; the number is that of ``ambiguous``.
    static let nobody = ExitCode.ambiguous

    /// Whether one code gives way to another: an error wins over an ambiguity.
    static func < (left: ExitCode, right: ExitCode) -> Bool { left.weight < right.weight }

    private var weight: Int {
        switch self {
        case .fine: 0
        case .ambiguous: 1
        case .failed: 2
        case .usage: 3
        }
    }
}
