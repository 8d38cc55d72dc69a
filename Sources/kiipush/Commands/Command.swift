import KiiPushAgent

/// A command of the tool: its action, and the source of its help, its manual and the shells' completions.
struct Command: Sendable {
    typealias Action = @Sendable (_ arguments: [String], Console) async -> ExitCode

    /// The words after `kiipush` that call it, such as `rules test`; empty for the tool itself.
    let name: String
    /// A summary, in one line without a full stop.
    let summary: String
    /// The arguments after its name; several lines for several forms.
    var usage = [""]
    /// Paragraphs before the options, and after them.
    var about: [String] = []
    var options = [OptionTexts(options: [.help])]
    var operands = Completion.nothing
    var notes: [String] = []
    /// The meaning of its exit codes, except wrong usage.
    var exits: [(code: ExitCode, meaning: String)] = []
    var examples: [String] = []
    /// Its subcommands; empty for one with an action.
    var commands: [Command] = []
    /// Runs it; nil for one with subcommands.
    var action: Action?

    var lastWord: String { name.split(separator: " ").last.map { String($0) } ?? "" }

    var call: String { name.isEmpty ? "kiipush" : "kiipush \(name)" }

    var allOptions: [OptionText] { options.flatMap(\.options) }

    /// The command and all its subcommands, itself first.
    var all: [Command] { [self] + commands.flatMap(\.all) }
}

extension Command {
    func run(_ arguments: [String], _ console: Console) async -> ExitCode {
        if let action { return await action(arguments, console) }
        guard let first = arguments.first else { return console.fail(help, .usage) }
        let rest = Array(arguments.dropFirst())
        if first == "help", case let wanted = rest.prefix(while: { !$0.hasPrefix("-") }), !wanted.isEmpty {
            return await run(wanted + [OptionText.help.name], console)
        }
        if first == "help" || first == OptionText.help.name || first == OptionText.help.short {
            console.print(help)
            return .fine
        }
        if let command = commands.first(where: { $0.lastWord == first }) { return await command.run(rest, console) }
        if first.hasPrefix("-") { return refuse(unknownOption(first), console) }
        return console.fail("\(call): \(unknownCommand(first))", .usage)
    }

    /// The error for an option before all commands, which may only be misplaced.
    private func unknownOption(_ argument: String) -> Arguments.Mistake {
        let option = String(argument.prefix { $0 != "=" })
        let owner = all.dropFirst().first { $0.action != nil && $0.allOptions.contains { $0.name == option } }
        guard let owner else { return Arguments.Mistake(unknown: option, known: allOptions.map(\.name)) }
        return Arguments.Mistake(text: "\(option) goes after the command, as in '\(owner.call) \(option)'")
    }

    /// The error for an unknown command, which may be a subcommand of another one.
    private func unknownCommand(_ name: String) -> String {
        let deeper = commands.flatMap(\.commands).filter { $0.lastWord == name }.map { "'\($0.name)'" }
        guard deeper.isEmpty else {
            return "unknown command '\(escaped(name))'; did you mean \(deeper.joined(separator: " or "))?"
        }
        return Arguments.unknown(command: name, known: commands.map(\.lastWord) + ["help"])
    }

    enum Reading<Options> {
        case options(Options)
        /// Finished: help was printed, or an error was reported.
        case answered(ExitCode)

        var code: ExitCode { if case .answered(let code) = self { code } else { .fine } }
    }

    /// Parses a command line with a table and `check`; prints the help if requested, and reports errors.
    func read<Options>(
        _ arguments: [String], by table: OptionTable<Options>, into options: Options, _ console: Console,
        _ check: (inout Options, _ operands: [String]) throws(Arguments.Mistake) -> Void
    ) -> Reading<Options> {
        var options = options
        do throws(Arguments.Mistake) {
            guard let operands = try table.read(arguments, into: &options) else {
                console.print(help)
                return .answered(.fine)
            }
            try check(&options, operands)
            return .options(options)
        } catch { return .answered(refuse(error, console)) }
    }

    func refuse(_ mistake: Arguments.Mistake, _ console: Console) -> ExitCode {
        let isQuestion = mistake.text.hasSuffix("?")
        return console.fail("\(call): \(mistake.text)\(isQuestion ? " Try" : "; try") '\(call) --help'", .usage)
    }
}

/// A command whose properties are its options.
protocol CommandWithOptions: Sendable {
    init()
    static var table: OptionTable<Self> { get }
    /// The command without its options and its action.
    static var description: Command { get }
    mutating func check(_ operands: [String]) throws(Arguments.Mistake)
    func run(_ console: Console) async -> ExitCode
}

extension CommandWithOptions {
    static var table: OptionTable<Self> { OptionTable([]) }

    func check(_ operands: [String]) throws(Arguments.Mistake) {
        if !operands.isEmpty { throw Arguments.Mistake(text: "it takes no arguments") }
    }

    static var command: Command {
        var command = description
        command.options = table.texts
        command.action = { arguments, console in await run(arguments, console) }
        return command
    }

    static func run(_ arguments: [String], _ console: Console) async -> ExitCode {
        let reading = command.read(arguments, by: table, into: Self(), console) {
            options, operands throws(Arguments.Mistake) in try options.check(operands)
        }
        guard case .options(let options) = reading else { return reading.code }
        return await options.run(console)
    }
}
