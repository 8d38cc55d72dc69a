import KiiPush
import KiiPushAgent
import KiiPushSystem

/// What `kiipush dead-letters` does first: finds the agent of the state directory, and asks it.
enum StateCommand {
    /// A command whose subcommands are actions on messages.
    static func command(_ command: Command, _ actions: [(StateOptions.Action, Command)]) -> Command {
        var command = command
        let name = command.name
        command.commands = actions.map { action, text in
            var text = text
            text.options = StateOptions.table(action).texts
            let subcommand = text
            text.action = { arguments, console in await run(name, action, subcommand, arguments, console) }
            return text
        }
        return command
    }

    /// Runs an action in the agent of the directory, or on its files if none runs.
    private static func run(
        _ name: String, _ action: StateOptions.Action, _ command: Command, _ arguments: [String], _ console: Console
    ) async -> ExitCode {
        let words = [action.rawValue] + arguments
        let reading = command.read(arguments, by: StateOptions.table(action), into: StateOptions(action), console) {
            options, operands throws(Arguments.Mistake) in try options.finish(operands)
        }
        guard case .options(let options) = reading else { return reading.code }
        guard StateDirectory.isThere(options.directory) else {
            console.error("kiipush \(name): there is no state directory \(escaped(options.directory))")
            return .failed
        }
        do {
            switch try AgentState.open(options.directory) {
            case .taken(let control):
                let code = try await control.ask([name] + words, print: console.print, error: console.error)
                return ExitCode(rawValue: code) ?? .failed
            case .opened where !AgentState.isDurable:
                console.error(
                    "kiipush \(name): no agent runs on \(escaped(options.directory)), and this kiipush keeps nothing "
                        + "there without one; build it with the trait SQLite")
                return .nobody
            case .opened(let state):
                return await DeskCommand.run(name, words, try state.session(), console.desk)
            }
        } catch {
            console.error("kiipush \(name): \(error)")
            return .failed
        }
    }
}
