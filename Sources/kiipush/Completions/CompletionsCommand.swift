import KiiPushAgent

enum CompletionsCommand {
    private static let shells: [(name: String, script: String)] = [
        ("bash", CompletionScripts.bash), ("zsh", CompletionScripts.zsh), ("fish", CompletionScripts.fish),
    ]

    /// The word behind which the scripts pass a command line.
    private static let offer = "offer"

    static func run(_ arguments: [String], of tool: Command, _ console: Console) -> ExitCode {
        if arguments.first == offer {
            for line in CompletionOffer(Array(arguments.dropFirst()), tool).lines { console.print(line) }
            return .fine
        }
        let reading = description.read(arguments, by: OptionTable<String>([]), into: "", console) {
            script, operands throws(Arguments.Mistake) in
            let names = shells.map(\.name).joined(separator: ", ")
            guard let name = operands.first else { throw Arguments.Mistake(text: "name a shell: \(names)") }
            guard operands.count == 1, let shell = shells.first(where: { $0.name == name }) else {
                throw Arguments.Mistake(
                    text: "it takes one of \(names), not '\(escaped(operands.joined(separator: " ")))'")
            }
            script = shell.script
        }
        guard case .options(let script) = reading else { return reading.code }
        console.print(script)
        return .fine
    }

    static func command(of tool: @escaping @Sendable () -> Command) -> Command {
        var command = description
        command.action = { arguments, console in run(arguments, of: tool(), console) }
        return command
    }

    private static let description = Command(
        name: "completions", summary: "prints completions for bash, zsh or fish",
        usage: ["bash|zsh|fish"], options: OptionTable<Void>([]).texts, operands: .words(shells.map(\.name)),
        notes: ["The first example loads them into this shell, the others into every new one; DIR is one of $fpath."],
        exits: [(.fine, "printed")],
        examples: [
            "source <(kiipush completions bash)",
            "kiipush completions bash > ~/.local/share/bash-completion/completions/kiipush",
            "kiipush completions zsh > DIR/_kiipush",
            "kiipush completions fish > ~/.config/fish/completions/kiipush.fish",
        ])
}

/// What a shell offers for the last word of a command line.
struct CompletionOffer {
    /// `words`, `files` or `directories`; behind `words` a line each, perhaps with a tabulator and a description.
    private(set) var lines: [String] = []

    /// Finds it for the words behind `kiipush`, of which the last one is being typed.
    init(_ words: [String], _ tool: Command) {
        var (command, helps) = (tool, false)
        leading: for word in words.dropLast() {
            if let part = command.commands.first(where: { $0.lastWord == word }) {
                command = part
            } else if word == "help", !command.commands.isEmpty {
                helps = true
            } else {
                break leading
            }
        }
        // Bash makes a word of its own of a sign of equality.
        let parts = words.flatMap { word -> [String] in
            guard word.hasPrefix("--"), let sign = word.firstIndex(of: "=") else { return word == "=" ? [""] : [word] }
            return [String(word[..<sign]), String(word[word.index(after: sign)...])]
        }
        let typed = parts.last ?? ""
        let name = parts.dropLast().last { !$0.isEmpty } ?? ""
        let option = command.allOptions.first { $0.word != nil && [$0.name, $0.short].contains(name) }
        if let option {
            offer(option.completion, typed)
        } else if typed.hasPrefix("-") || command.commands.isEmpty && !helps && command.operands.isNothing {
            let shown = command.allOptions.flatMap { option in
                [(option.name, option.brief)] + (option.short.map { [($0, option.brief)] } ?? [])
            }
            offer(shown.filter { typed.hasPrefix("-") || $0.0.hasPrefix("--") }, typed)
        } else if !command.commands.isEmpty {
            offer(command.commands.map { ($0.lastWord, $0.summary) } + [("help", Command.helpSummary)], typed)
        } else if !helps {
            offer(command.operands, typed)
        }
    }

    private mutating func offer(_ completion: Completion, _ typed: String) {
        switch completion {
        case .nothing: break
        case .file: lines = ["files"]
        case .directory: lines = ["directories"]
        case .words(let words): offer(words.map { ($0, "") }, typed)
        }
    }

    private mutating func offer(_ words: [(String, String)], _ typed: String) {
        lines = ["words"] + words.filter { $0.0.hasPrefix(typed) }.map { $0.1.isEmpty ? $0.0 : "\($0.0)\t\($0.1)" }
    }
}

extension Completion {
    fileprivate var isNothing: Bool { if case .nothing = self { true } else { false } }
}

extension OptionText {
    /// The beginning of its summary, short enough for a menu.
    fileprivate var brief: String {
        let ends = ["; ", ". ", ": "].compactMap { end in help.firstIndex(ofText: end) }
        let first = ends.min().map { String(help[..<$0]) } ?? help
        return first.count <= 72 ? first : first.prefix(71) + "…"
    }
}
