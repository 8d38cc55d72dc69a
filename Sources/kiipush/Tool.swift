import KiiPushAgent
import KiiPushSystem

/// The command-line tool: inspects payloads, demonstrates the receiver, and switches off what must stop.
@main
struct Tool {
    static func main() async {
        occupyStandardDescriptors()
        let arguments = Array(CommandLine.arguments.dropFirst())
        // Swift has repaired them: they would name other files.
        let words = unsafe UnsafeBufferPointer(start: CommandLine.unsafeArgv, count: arguments.count + 1)
        guard unsafe words.allSatisfy({ unsafe $0.flatMap { unsafe String(validatingCString: $0) } != nil }) else {
            Console.standard.error("kiipush: an argument is not UTF-8; rename the file that it names")
            exitProcess(.usage)
        }
        if arguments.first == ReceiveCommand.command.name, let status = FirstProcess.run(arguments) {
            exitProcess(status)
        }
        let code = await run(arguments, Console.standard)
        exitProcess(code)
    }

    static func run(_ arguments: [String], _ console: Console) async -> ExitCode {
        if [versionOption.name, versionOption.short, "version"].contains(arguments.first) {
            console.print("kiipush \(Version.number)")
            return .fine
        }
        return await command.run(arguments, console)
    }

    static let command: Command = Command(
        name: "", summary: "receives, inspects and sends Kii push messages",
        usage: ["COMMAND [OPTION…]"], options: [OptionTexts(options: [versionOption, .help])],
        notes: ["Colours are used on terminals only, and not with TERM=dumb or if NO_COLOR is set."],
        exits: [
            (.fine, "fine, or yes"), (.failed, "no, or an input, a test or the command failed"),
            (
                .unanswered,
                "no answer: a payload is ambiguous under --strict, two versions of rules cannot be compared, or no "
                    + "agent is running"
            ),
        ],
        commands: [
            DemoCommand.command, InspectCommand.command, RulesCommand.command, ReceiveCommand.command,
            StatusCommand.command, TapCommand.command, TopCommand.command, DeadLettersCommand.command,
            KillCommand.killCommand, KillCommand.reviveCommand, ReportCommand.command,
            SendCommand.command, RefreshCommand.command, UnsubscribeCommand.command, InstallCommand.command,
            CompletionsCommand.command { command }, ManualCommand.command { command },
        ])

    private static let versionOption = OptionText(name: "--version", short: "-V", help: "prints the version")
}
