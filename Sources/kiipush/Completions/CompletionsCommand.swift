import KiiPushAgent

/// `kiipush completions`: prints a shell's completions of commands, options and values.
struct CompletionsCommand {
    private enum Shell: String, CaseIterable {
        case bash
        case zsh
        case fish
    }

    private var shell = Shell.bash

    static func run(_ arguments: [String], of tool: Command, _ console: Console) -> ExitCode {
        let reading = description.read(
            arguments, by: OptionTable<CompletionsCommand>([]), into: CompletionsCommand(), console
        ) { options, operands throws(Arguments.Mistake) in
            let names = Shell.allCases.map(\.rawValue).joined(separator: ", ")
            guard let name = operands.first else { throw Arguments.Mistake(text: "name a shell: \(names)") }
            guard operands.count == 1, let shell = Shell(rawValue: name) else {
                throw Arguments.Mistake(
                    text: "it takes one of \(names), not '\(escaped(operands.joined(separator: " ")))'")
            }
            options.shell = shell
        }
        guard case .options(let options) = reading else { return reading.code }
        switch options.shell {
        case .bash: console.print(BashCompletions(tool).text)
        case .zsh: console.print(ZshCompletions(tool).text)
        case .fish: console.print(FishCompletions(tool).text)
        }
        return .fine
    }

    /// The command, for the tool whose commands it completes.
    static func command(of tool: @escaping @Sendable () -> Command) -> Command {
        var command = description
        command.action = { arguments, console in run(arguments, of: tool(), console) }
        return command
    }

    private static let description = Command(
        name: "completions", summary: "prints completions for bash, zsh or fish",
        usage: ["bash|zsh|fish"], options: OptionTable<CompletionsCommand>([]).texts,
        operands: .words(Shell.allCases.map(\.rawValue)),
        notes: [
            .text("To load them in every new shell:"),
            .lines([
                "kiipush completions bash > ~/.local/share/bash-completion/completions/kiipush",
                "kiipush completions zsh > DIR/_kiipush    # DIR is one of $fpath",
                "kiipush completions fish > ~/.config/fish/completions/kiipush.fish",
            ]),
        ],
        exits: [(.fine, "printed")], examples: ["source <(kiipush completions bash)"])
}

extension Command {
    /// The path by which a shell's function identifies the command, such as `rules/test`.
    var path: String { name.split(separator: " ").joined(separator: "/") }

    /// The pairs that lead to a command: the path so far and the next word.
    var paths: [String] {
        all.dropFirst().map { command in
            let above = command.path.split(separator: "/").dropLast().joined(separator: "/")
            return "\(above)/\(command.lastWord)"
        }
    }

    /// The paths of the help of command groups.
    var helpPaths: [String] { all.filter { !$0.commands.isEmpty }.map { "\($0.path)/help" } }

    /// The subcommands that shells offer, each with its summary.
    var offered: [(name: String, summary: String)] {
        commands.isEmpty ? [] : commands.map { ($0.lastWord, $0.summary) } + [("help", Self.helpSummary)]
    }

    /// All names of its options, including short ones.
    var optionNames: [String] { allOptions.flatMap { [$0.name] + ($0.short.map { [$0] } ?? []) } }
}

extension OptionText {
    /// The beginning of its summary, short enough for a menu.
    var brief: String {
        let ends = ["; ", ". ", ": "].compactMap { end in help.firstIndex(ofText: end) }
        let first = ends.min().map { String(help[..<$0]) } ?? help
        return first.count <= 72 ? first : first.prefix(71) + "…"
    }
}

extension String {
    /// The text as one word of a POSIX shell.
    var shellQuoted: String {
        "'" + split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
    }
}
