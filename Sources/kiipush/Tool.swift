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
        if arguments.first == versionOption.name || arguments.first == versionOption.short {
            console.print("kiipush \(version)")
            return .fine
        }
        return await command.run(arguments, console)
    }

    /// The tool itself, with all its commands.
    static let command = Command(
        name: "", summary: "looks at Kii push payloads and shows what a receiver does with them",
        usage: ["COMMAND [OPTION…]"], options: [OptionTexts(options: [versionOption, .help])],
        notes: [
            .text(
                "Colours are for terminals only: there are none in a pipe or a file, with TERM=dumb, or where NO_COLOR is "
                    + "set.")
        ],
        exits: [
            (.fine, "fine, or yes"), (.failed, "no, or something failed: an input, a test, what was asked for"),
            (
                .unanswered,
                "there is no answer: a payload is ambiguous under --strict, two versions of rules cannot be compared, or "
                    + "no agent is there"
            ),
        ],
        commands: [
            DemoCommand.command, InspectCommand.command, RulesCommand.command, ReceiveCommand.command,
            StatusCommand.command, TapCommand.command, TopCommand.command, DeadLettersCommand.command,
            HeldCommand.command, KillCommand.killCommand, KillCommand.reviveCommand, SendCommand.command,
            CompletionsCommand.command, ManualCommand.command,
        ])

    private static let versionOption = OptionText(name: "--version", short: "-V", help: "prints the version")

    /// The version of the tool and of the libraries that it is built with.
    static let version = "0.1.0"

    /// The day of that version, which the manual's pages bear.
    static let date = "2026-11-22"
}

/// The exit codes of every command: each says with 0 that all is fine, with 1 that it is not, with 2 that there is no
/// answer to be had, and with 64 that the command line is wrong.
enum ExitCode: Int32, Comparable {
    /// All went well, or the answer is yes.
    case fine = 0
    /// An input failed, or the answer is no.
    case failed = 1
    /// There is no answer.
    case unanswered = 2
    /// The command line is wrong.
    case usage = 64

    /// An input is ambiguous, and that was to be told.
    static let ambiguous = ExitCode.unanswered

    /// There is no agent that could take what was asked.
    static let nobody = ExitCode.unanswered

    /// Whether one code gives way to another: an error wins over an ambiguity.
    static func < (left: ExitCode, right: ExitCode) -> Bool { left.weight < right.weight }

    private var weight: Int {
        switch self {
        case .fine: 0
        case .unanswered: 1
        case .failed: 2
        case .usage: 3
        }
    }
}
