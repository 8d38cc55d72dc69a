import KiiPush
import KiiPushAgent
import KiiPushSystem

enum DeadLettersCommand {
    private static let name = "dead-letters"

    static let command = Command(
        name: name, summary: "shows, replays and drops dead letters", usage: ["COMMAND [OPTION…]"],
        about: [
            "Works with or without a running agent, except for replay, which calls the agent's handlers. "
                + "NUMBER is one that 'list' and, as 'dead letter NUMBER', the log show; FILTER is --reason, --route "
                + "or --transport."
        ],
        exits: [
            (.fine, "done"), (.failed, "a message was not found or failed"),
            (.nobody, "replay needs an agent, and none is running"),
        ],
        commands: [
            of(
                .list, "lists dead letters", usage: "[NUMBER…] [OPTION…]",
                exits: [(.fine, "listed"), (.failed, "no such number, or the store cannot be read")]),
            of(
                .show, "shows dead letters with their payloads", usage: "NUMBER…|FILTER… [OPTION…]",
                exits: [(.fine, "shown"), (.failed, "no such number, or the store cannot be read")]),
            of(
                .replay, "handles dead letters again, in the agent", usage: "NUMBER…|FILTER…|--all [OPTION…]",
                notes: [
                    "Dead letters that are handled are removed; the others are kept. A dead letter that "
                        + "summarizes many messages has the payload of the newest one only: replaying it "
                        + "handles that one.",
                    "Ctrl-C ends the command after the dead letter that is being handled. One that was dropped "
                        + "meanwhile, or that another replay is handling, is not replayed.",
                ],
                exits: [
                    (.fine, "all were handled"), (.failed, "one was not handled, or no number or filter matched"),
                    (.nobody, "no agent is running"),
                ]),
            of(
                .drop, "deletes dead letters permanently", usage: "NUMBER…|FILTER…|--all [OPTION…]",
                notes: ["A dead letter that a replay is handling is not dropped."],
                exits: [(.fine, "dropped"), (.failed, "one could not be dropped, or no number or filter matched")]),
        ])

    private static func of(
        _ action: StateOptions.Action, _ summary: String, usage: String, notes: [String] = [],
        exits: [(code: ExitCode, meaning: String)]
    ) -> Command {
        var command = Command(
            name: "\(name) \(action.rawValue)", summary: summary, usage: [usage],
            options: StateOptions.table(action).texts, notes: notes, exits: exits)
        command.action = { [command] arguments, console in await run(action, command, arguments, console) }
        return command
    }

    /// Runs an action in the agent of the directory, or on its files if none runs.
    private static func run(
        _ action: StateOptions.Action, _ command: Command, _ arguments: [String], _ console: Console
    ) async -> ExitCode {
        let words = [action.rawValue] + arguments
        let reading = command.read(arguments, by: StateOptions.table(action), into: StateOptions(action), console) {
            options, operands throws(Arguments.Mistake) in try options.finish(operands)
        }
        guard case .options(let options) = reading else { return reading.code }
        guard AgentState.isThere(options.directory) else {
            return console.fail(
                "kiipush \(name): there is no state of an agent in \(escaped(options.directory)); --state names another "
                    + "directory")
        }
        do {
            switch try AgentState.open(options.directory) {
            case .taken(let control):
                try await control.meet()
                let code = try await control.ask([name] + words, print: console.print, error: console.error)
                return ExitCode(rawValue: code) ?? .failed
            case .opened where !AgentState.isDurable:
                return console.fail(
                    "kiipush \(name): no agent runs on \(escaped(options.directory)), and this kiipush keeps nothing "
                        + "there without one; build it with the trait SQLite", .nobody)
            case .opened(let state):
                return await DeadLetterDesk.answer(words, try state.session(), console.desk)
            }
        } catch { return console.fail("kiipush \(name): \(error)") }
    }
}
