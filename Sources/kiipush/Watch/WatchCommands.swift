import CLibrary
import KiiPush
import KiiPushAgent
import KiiPushSystem

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
            try await agent.control.meet()
            let code = try await agent.control.ask(["tap"] + arguments, print: print, error: console.error)
            return ExitCode(rawValue: code) ?? .failed
        } catch SocketError.nobodyAnswers(_, let number) where number == SocketError.brokenOff {
            return console.fail("kiipush tap: the agent closed the connection without an answer")
        } catch {
            return agent.tell(agent.silence(error), "tap", console)
        }
    }

    static let command = Command(
        name: "tap", summary: "shows an agent's messages and their outcomes as they end",
        usage: ["[OPTION…]"], options: TapOptions.table.texts,
        notes: [
            "The output contains payloads: only the agent's user and root may watch, at most four at once. The "
                + "agent is never slowed down: up to 256 unread messages are buffered, and the rest are skipped "
                + "and counted. Ctrl-C or a closed pipe ends it."
        ],
        exits: [
            (.fine, "the agent ended, or --count was reached"),
            (.failed, "the agent did not answer within five seconds, or closed the connection without an answer"),
            (.nobody, "no agent is running"),
        ],
        action: { arguments, console in await run(arguments, console) })
}

struct StatusCommand: CommandWithOptions {
    private var format = ReportFormat.text
    private var directory = ""

    static let table = OptionTable<StatusCommand>([
        .format("text for people (the default), or json: one object on one line") { $0.format = $1 },
        .state { $0.directory = $1 },
    ])

    mutating func check(_ operands: [String]) throws(Arguments.Mistake) {
        try Arguments.none(operands, hint: StateOption.hint)
        directory = try StateOption.directory(directory)
    }

    func run(_ console: Console) async -> ExitCode {
        let agent = WatchedAgent(directory: directory)
        do throws(WatchedAgent.Silence) {
            let (line, status) = try await agent.status()
            switch format {
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

    static let description = Command(
        name: "status", summary: "shows an agent's state, and whether it is healthy", usage: ["[OPTION…]"],
        notes: [
            "An agent is healthy if it accepts payloads, no store fails, every connection is up, no resource is "
                + "short, and neither the queue nor the dead-letter store is full. P50 and P99 are percentiles of a route's handling "
                + "time; WAIT P99 is the time from a message's arrival to its first attempt."
        ],
        exits: [
            (.fine, "healthy"), (.failed, "not healthy, or no reply within five seconds"),
            (.nobody, "no agent is running"),
        ])
}

struct ScreenSize: Equatable {
    var columns: Int
    var rows: Int

    /// The terminal's size; `$COLUMNS`, or 80 by 24, without a terminal.
    static var current: ScreenSize {
        var size = winsize()
        if unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 {
            return ScreenSize(columns: Int(size.ws_col), rows: Int(size.ws_row))
        }
        let columns = environmentVariable("COLUMNS").flatMap { Int($0) } ?? 80
        return ScreenSize(columns: min(max(columns, 40), 1000), rows: 24)
    }
}
