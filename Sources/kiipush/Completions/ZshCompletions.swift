import KiiPushAgent

/// Completions for zsh, on its own completion system.
struct ZshCompletions {
    private let tool: Command

    init(_ tool: Command) { self.tool = tool }

    var text: String {
        var lines = [
            "#compdef kiipush",
            "# Completions of kiipush \(Version.number) for zsh; 'kiipush completions zsh' makes them.",
            "_kiipush() {",
            "    local at= helps=",
            "    local -i i=2",
            "    local -a commands",
            "    # The command: the words in front that lead to one.",
            "    while (( i < CURRENT )); do",
            "        case \"$at/$words[i]\" in",
            "            \(tool.paths.joined(separator: "|"))) at=\"${at:+$at/}$words[i]\" ;;",
            "            \(tool.helpPaths.joined(separator: "|"))) helps=1 ;;",
            "            *) break ;;",
            "        esac",
            "        (( i++ ))",
            "    done",
            "    # What is left is a command line of its own.",
            "    words=(kiipush \"${(@)words[i,-1]}\")",
            "    (( CURRENT = CURRENT - i + 2 ))",
            "    case $at in",
        ]
        for command in tool.all { lines += command.commands.isEmpty ? arguments(command) : commands(command) }
        lines += [
            "    esac", "}", "",
            "# Loaded from $fpath it completes at once; sourced it only says what it is for.",
            "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _kiipush \"$@\"",
            "elif (( $+functions[compdef] )); then compdef _kiipush kiipush",
            "fi",
        ]
        return lines.joined(separator: "\n")
    }

    private func commands(_ command: Command) -> [String] {
        let offered = command.offered.map { "            " + "\($0.name):\($0.summary)".shellQuoted }
        return ["        '\(command.path)')", "            if [[ $PREFIX == -* ]]; then"]
            + ["                _arguments \\"] + Self.joined(command.allOptions.flatMap(specs), "                    ")
            + ["            else", "                commands=("] + offered.map { "        " + $0 }
            + ["                )", "                _describe command commands", "            fi", "            ;;"]
    }

    private func arguments(_ command: Command) -> [String] {
        var all = command.allOptions.flatMap(specs)
        if let action = Self.action(command.operands) { all.append("*: :\(action)".shellQuoted) }
        return ["        '\(command.path)')", "            [[ $helps ]] || _arguments \\"]
            + Self.joined(all, "                ") + ["            ;;"]
    }

    /// The lines of one call, all except the last with a continuation mark.
    private static func joined(_ words: [String], _ space: String) -> [String] {
        words.enumerated().map { space + $0.element + ($0.offset == words.count - 1 ? "" : " \\") }
    }

    /// The arguments of `_arguments` for an option, one for each of its names.
    private func specs(_ option: OptionText) -> [String] {
        let names = [option.name] + (option.short.map { [$0] } ?? [])
        let others = names.count > 1 ? "(\(names.joined(separator: " ")))" : ""
        let help = "[\(option.brief.escaping(#"\[]:"#))]"
        return names.map { name in
            guard let word = option.word else { return (others + name + help).shellQuoted }
            return "\(others)\(name)=\(help):\(word.escaping(#"\[]:"#)):\(Self.action(option.completion) ?? " ")"
                .shellQuoted
        }
    }

    private static func action(_ completion: Completion) -> String? {
        switch completion {
        case .nothing: nil
        case .file: "_files"
        case .directory: "_files -/"
        case .words(let words): "(\(words.joined(separator: " ")))"
        }
    }
}
