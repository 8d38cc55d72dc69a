import CLibrary
import KiiPush
import KiiPushAgent
import KiiPushSystem

/// `kiipush tap`: shows the messages of a running agent when they end.
enum TapCommand {
    /// Watches the agent of a state directory, until the agent or this command is ended.
    static func run(_ arguments: [String], _ given: Console) async -> ExitCode {
        let reading = Self.command.read(arguments, by: TapOptions.table, into: TapOptions(), given) {
            options, operands throws(Arguments.Mistake) in
            try TapOptions.check(operands)
            options.directory = try StateOption.directory(options.directory)
        }
        guard case .options(let options) = reading else { return reading.code }
        let agent = WatchedAgent(directory: options.directory)
        let console = given.untilClosed
        let isFolded = given.isStandard && options.format == .text && isatty(STDOUT_FILENO) == 1
        let print: @Sendable (String) -> Void = { line in
            // By the current width: a terminal can be resized meanwhile.
            for line in isFolded ? Figures.folded(line, ScreenSize.current.columns) : [line] { console.print(line) }
        }
        do {
            let code = try await agent.control.ask(["tap"] + arguments, print: print, error: console.error)
            return ExitCode(rawValue: code) ?? .failed
        } catch SocketError.nobodyAnswers(_, let number) where number == SocketError.brokenOff {
            console.error("kiipush tap: the agent closed the connection without an answer")
            return .failed
        } catch {
            return agent.tell(agent.silence("\(error)"), "tap", console)
        }
    }

    static let command = Command(
        name: "tap", summary: "shows an agent's messages and their outcomes as they end",
        usage: ["[OPTION…]"], options: TapOptions.table.texts,
        notes: [
            .text(
                "The output contains payloads: only the agent's user and root may watch, at most four at once. The "
                    + "agent is never slowed down: up to 256 unread messages are buffered, and the rest are skipped "
                    + "and counted. Ctrl-C or a closed pipe ends it.")
        ],
        exits: [
            (.fine, "the agent ended, or --count was reached"),
            (.failed, "the agent closed the connection without an answer"),
            (.nobody, "no agent is running"),
        ],
        action: { arguments, console in await run(arguments, console) })
}
