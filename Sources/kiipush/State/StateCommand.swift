import KiiPush
import KiiPushLinux

/// What `kiipush dead-letters` and `kiipush held` share: finding out who has the state directory, and asking that one.
enum StateCommand {
    static let standardDirectory = "without it $STATE_DIRECTORY, else ~/.local/state/kiipush"

    /// Runs a command in the agent that has the directory, or on its files when none runs.
    static func run(_ name: String, _ arguments: [String], _ console: Console) async -> ExitCode {
        let (options, code) =
            name == "held" ? HeldCommand.options(arguments, console) : DeadLettersCommand.options(arguments, console)
        guard let options else { return code }
        guard StateDirectory.isThere(options.directory) else {
            console.error("kiipush \(name): there is no state directory \(escaped(options.directory))")
            return .failed
        }
        do {
            switch try AgentState.open(options.directory) {
            case .taken(let control):
                let code = try await control.ask([name] + arguments, print: console.print, error: console.error)
                return ExitCode(rawValue: code) ?? .failed
            case .opened(let state):
                return await DeskCommand.run(name, arguments, try state.desk(), console)
            }
        } catch {
            console.error("kiipush \(name): \(error)")
            return .failed
        }
    }

    /// Reads the action and the options of a command.
    static func options(
        _ name: String, _ arguments: [String], _ actions: [String: StateOptions.Action], _ help: String,
        isOfLetters: Bool, _ console: Console
    ) -> (options: StateOptions?, code: ExitCode) {
        let rest = Array(arguments.dropFirst())
        guard let first = arguments.first else {
            console.error(help)
            return (nil, .usage)
        }
        if ["help", "--help", "-h"].contains(first) {
            console.print(help)
            return (nil, .fine)
        }
        guard let action = actions[first] else {
            console.error("kiipush \(name): " + Arguments.unknown(command: first, known: actions.keys.sorted()))
            return (nil, .usage)
        }
        do throws(Arguments.Mistake) {
            if let options = try StateOptions(action, rest, isOfLetters: isOfLetters) { return (options, .fine) }
            console.print(help)
            return (nil, .fine)
        } catch {
            console.error("kiipush \(name) \(first): \(error.text); try 'kiipush \(name) --help'")
            return (nil, .usage)
        }
    }
}
