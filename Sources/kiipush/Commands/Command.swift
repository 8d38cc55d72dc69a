/// A command of the tool: what it does, and all that its help, its manual and the shells' completions say of it.
struct Command: Sendable {
    typealias Action = @Sendable (_ arguments: [String], Console) async -> ExitCode

    /// The words behind `kiipush` that call it, such as `rules test`; empty for the tool itself.
    let name: String
    /// What it does, in one line without a full stop.
    let summary: String
    /// What may stand behind its name; more lines for other ways to call it.
    var usage = [""]
    /// What there is to know before the options.
    var about: [Paragraph] = []
    var options = [OptionTexts(options: [.help])]
    /// What shells offer where no option stands.
    var operands = Completion.nothing
    /// What there is to know behind the options.
    var notes: [Paragraph] = []
    /// What its exit codes mean; wrong usage goes without saying.
    var exits: [(code: ExitCode, meaning: String)] = []
    /// Lines to be tried.
    var examples: [String] = []
    /// The commands that it is made of; empty for one that does something itself.
    var commands: [Command] = []
    /// Does it; nil for one that is made of others.
    var action: Action?

    var lastWord: String { name.split(separator: " ").last.map { String($0) } ?? "" }

    /// How it is called.
    var call: String { name.isEmpty ? "kiipush" : "kiipush \(name)" }

    /// All options, in order.
    var allOptions: [OptionText] { options.flatMap(\.options) }

    /// It and what it is made of, the tool first.
    var all: [Command] { [self] + commands.flatMap(\.all) }
}

/// A part of a command's description.
enum Paragraph: Sendable {
    /// Sentences, broken into lines where they are shown.
    case text(String)
    /// Lines to be shown as they are.
    case lines([String])
}

extension Command {
    /// Calls the command with the words behind its name.
    func run(_ arguments: [String], _ console: Console) async -> ExitCode {
        if let action { return await action(arguments, console) }
        guard let first = arguments.first else {
            console.error(help)
            return .usage
        }
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
        console.error("\(call): \(unknownCommand(first))")
        return .usage
    }

    /// What is wrong with an option in front of all commands: perhaps only its place.
    private func unknownOption(_ argument: String) -> Arguments.Mistake {
        let option = String(argument.prefix { $0 != "=" })
        let owner = all.dropFirst().first { $0.action != nil && $0.allOptions.contains { $0.name == option } }
        guard let owner else { return Arguments.Mistake(unknown: option, known: allOptions.map(\.name)) }
        return Arguments.Mistake(text: "\(option) goes behind the command, as in '\(owner.call) \(option)'")
    }

    /// What is wrong with a command that there is not: perhaps it is part of another one.
    private func unknownCommand(_ name: String) -> String {
        let deeper = commands.flatMap(\.commands).filter { $0.lastWord == name }.map { "'\($0.name)'" }
        guard deeper.isEmpty else {
            return "there is no command '\(escaped(name))'; did you mean \(deeper.joined(separator: " or "))?"
        }
        return Arguments.unknown(command: name, known: commands.map(\.lastWord) + ["help"])
    }

    /// What came of reading a command line.
    enum Reading<Options> {
        case options(Options)
        /// Nothing is left to do: help was printed, or the mistake told.
        case answered(ExitCode)

        /// The exit code of one that was answered.
        var code: ExitCode { if case .answered(let code) = self { code } else { .fine } }
    }

    /// Reads a command line by a table; prints the help where that is wanted, and says what is wrong.
    ///
    /// - Parameters:
    ///   - arguments: the words behind the command's name.
    ///   - table: its options.
    ///   - options: what to fill.
    ///   - console: where help and mistakes go.
    ///   - check: takes what is no option, and looks at what belongs together.
    /// - Returns: the options, or with which exit code all was said.
    func read<Options>(
        _ arguments: [String], by table: OptionTable<Options>, into options: Options, _ console: Console,
        _ check: (inout Options, _ operands: [String]) throws(Arguments.Mistake) -> Void = {
            _, operands throws(Arguments.Mistake) in try Arguments.none(operands)
        }
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

    /// Reads the command line of a command that takes no arguments.
    func readNothing(_ arguments: [String], _ console: Console) -> Reading<Void> {
        read(arguments, by: OptionTable<Void>([]), into: (), console) { _, operands throws(Arguments.Mistake) in
            if !operands.isEmpty { throw Arguments.Mistake(text: "it takes no arguments") }
        }
    }

    /// Says what is wrong with a command line.
    func refuse(_ mistake: Arguments.Mistake, _ console: Console) -> ExitCode {
        let isQuestion = mistake.text.hasSuffix("?")
        console.error("\(call): \(mistake.text)\(isQuestion ? " Try" : "; try") '\(call) --help'")
        return .usage
    }
}
