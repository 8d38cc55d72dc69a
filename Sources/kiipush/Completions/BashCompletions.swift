import KiiPushAgent

/// Completions for bash, without further packages.
struct BashCompletions {
    private let tool: Command

    init(_ tool: Command) { self.tool = tool }

    var text: String {
        var lines = [
            "# Completions of kiipush \(Version.number) for bash; 'kiipush completions bash' makes them.",
            "_kiipush() {", "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}",
            "    local at= option= helps= i",
            "    COMPREPLY=()",
            "    # The command: the words in front that lead to one.",
            "    for ((i = 1; i < COMP_CWORD; i++)); do",
            "        case \"$at/${COMP_WORDS[i]}\" in",
            "            \(tool.paths.joined(separator: "|"))) at=\"${at:+$at/}${COMP_WORDS[i]}\" ;;",
            "            \(tool.helpPaths.joined(separator: "|"))) helps=1 ;;",
            "            *) break ;;",
            "        esac",
            "    done",
            "    # The option whose value is typed; '=' is a word of its own.",
            "    if [[ $current == '=' ]]; then option=$before current=",
            "    elif [[ $before == '=' ]]; then option=${COMP_WORDS[COMP_CWORD-2]}",
            "    elif [[ $before == -* ]]; then option=$before",
            "    fi",
            "    case \"$at $option\" in",
        ]
        lines += tool.all.flatMap(values)
        lines += [
            "    esac",
            "    if [[ $current == -* ]]; then",
            "        case $at in",
        ]
        lines += tool.all.map {
            "            '\($0.path)') _kiipush_words \($0.optionNames.joined(separator: " ").shellQuoted) ;;"
        }
        lines += ["        esac", "        return", "    fi", "    case $at in"]
        lines += tool.all.map { "        '\($0.path)') \(operands($0)) ;;" }
        lines += [
            "    esac", "}", "",
            "_kiipush_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$current\"); }", "",
            "_kiipush_paths() {", "    compopt -o filenames 2>/dev/null",
            "    mapfile -t COMPREPLY < <(compgen \"$1\" -- \"$current\")", "}", "",
            "complete -F _kiipush kiipush",
        ]
        return lines.joined(separator: "\n")
    }

    /// The completions for the values of a command's options.
    private func values(_ command: Command) -> [String] {
        command.allOptions.filter { $0.word != nil }.map { option in
            "        '\(command.path) \(option.name)') \(Self.offer(option.completion)); return ;;"
        }
    }

    /// The completions where no option is: subcommands, operands, or else options.
    private func operands(_ command: Command) -> String {
        if !command.commands.isEmpty {
            let names = command.offered.map(\.name).joined(separator: " ")
            return "_kiipush_words \(names.shellQuoted)"
        }
        let offer: String =
            if case .nothing = command.operands {
                "_kiipush_words \(command.optionNames.filter { $0.hasPrefix("--") }.joined(separator: " ").shellQuoted)"
            } else { Self.offer(command.operands) }
        return "[[ $helps ]] || \(offer)"
    }

    private static func offer(_ completion: Completion) -> String {
        switch completion {
        case .nothing: ":"
        case .file: "_kiipush_paths -f"
        case .directory: "_kiipush_paths -d"
        case .words(let words): "_kiipush_words \(words.joined(separator: " ").shellQuoted)"
        }
    }
}
