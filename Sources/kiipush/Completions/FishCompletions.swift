import KiiPushAgent

struct FishCompletions {
    private let tool: Command

    init(_ tool: Command) { self.tool = tool }

    var text: String {
        var lines = [
            "# Completions of kiipush \(Version.number) for fish; 'kiipush completions fish' makes them.",
            "# Whether the words in front lead to this command.",
            "function __kiipush_at",
            "    set -l at",
            "    for word in (commandline -opc)[2..-1]",
            "        switch \"$at/$word\"",
            "            case \(tool.paths.joined(separator: " "))",
            "                test -n \"$at\"; and set at $at/$word; or set at $word",
            "            case \(tool.helpPaths.joined(separator: " "))",
            "            case '*'",
            "                break",
            "        end",
            "    end",
            "    test \"$at\" = \"$argv[1]\"",
            "end",
            "complete -c kiipush -f",
        ]
        lines += tool.all.flatMap(rows)
        return lines.joined(separator: "\n")
    }

    private func rows(_ command: Command) -> [String] {
        let head = "complete -c kiipush -n \("__kiipush_at '\(command.path)'".fishQuoted)"
        var rows = command.offered.map { "\(head) -a \($0.name) -d \($0.summary.fishQuoted)" }
        rows += command.allOptions.map { option in
            let short = option.short.map { " -s \($0.dropFirst())" } ?? ""
            let value = option.word == nil ? "" : Self.value(option.completion)
            return "\(head)\(short) -l \(option.name.dropFirst(2))\(value) -d \(option.brief.fishQuoted)"
        }
        switch command.operands {
        case .nothing: break
        case .file: rows.append("\(head) -F")
        case .directory: rows.append("\(head) -a '(__fish_complete_directories)'")
        case .words(let words): rows.append("\(head) -a \(words.joined(separator: " ").fishQuoted)")
        }
        return rows
    }

    private static func value(_ completion: Completion) -> String {
        switch completion {
        case .nothing: " -x"
        case .file: " -r -F"
        case .directory: " -x -a '(__fish_complete_directories)'"
        case .words(let words): " -x -a \(words.joined(separator: " ").fishQuoted)"
        }
    }
}

extension String {
    /// The text as one word of fish, which interprets only backslashes and quotes inside quotes.
    fileprivate var fishQuoted: String { "'" + escaping(#"\'"#) + "'" }

    /// The text with a backslash before each of some characters.
    func escaping(_ special: String) -> String {
        reduce(into: "") { escaped, character in
            if special.contains(character) { escaped.append("\\") }
            escaped.append(character)
        }
    }
}
