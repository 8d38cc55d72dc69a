import KiiPushAgent

extension Command {
    /// The width of a help, for the narrowest common terminal.
    private static let width = 80

    var help: String {
        var lines = Figures.wrapped("\(call): \(summary)", Self.width) + [""]
        for (index, usage) in usage.enumerated() {
            let head = (index == 0 ? "usage: " : "       ") + call
            lines += Self.hanging(head + " ", usage, head.count + 1)
        }
        lines += [""] + about.flatMap(Self.paragraph)
        if !commands.isEmpty { lines += commandLines + [""] }
        let column = optionColumn
        for group in options where !group.options.isEmpty {
            if let heading = group.heading { lines.append(heading) }
            lines += group.options.flatMap { Self.hanging(Self.head("  " + $0.shown, column), $0.help, column) } + [""]
        }
        lines += notes.flatMap(Self.paragraph)
        if !commands.isEmpty { lines += ["'\(call) COMMAND --help' explains a command."] }
        lines += Figures.wrapped("Exit codes: \(exitSentence).", Self.width)
        if !examples.isEmpty { lines += ["", "Try it:", ""] + examples.map { "  " + $0 } }
        return lines.map { $0[...].trimmingSpacesAtEnd }.joined(separator: "\n")
    }

    /// The meaning of each exit code, including the one for wrong usage, which all commands have.
    var exitMeanings: [(code: ExitCode, meaning: String)] { exits + [(.usage, "wrong usage")] }

    private var exitSentence: String {
        exitMeanings.map { "\($0.code.rawValue) \($0.meaning)" }.joined(separator: "; ")
    }

    private var commandLines: [String] {
        let all = commands.map { ($0.lastWord, $0.summary) } + [("help", Self.helpSummary)]
        let column = (all.map(\.0.count).max() ?? 0) + 4
        return all.flatMap { Self.hanging(Self.head("  " + $0.0, column), $0.1, column) }
    }

    static let helpSummary = "shows this help, or the help of the named command"

    /// The column of the options' descriptions: after the widest option that leaves enough space.
    private var optionColumn: Int {
        let widest = allOptions.map(\.shown.count).filter { $0 <= 20 }.max() ?? 0
        return widest + 4
    }

    /// A first column, followed by a line break if it is too wide.
    private static func head(_ text: String, _ column: Int) -> String {
        text.count + 2 <= column ? text.padded(to: column) : text + "\n" + String(repeating: " ", count: column)
    }

    /// A text beside a first column, on as many lines as it needs.
    private static func hanging(_ head: String, _ text: String, _ column: Int) -> [String] {
        let space = String(repeating: " ", count: column)
        let wrapped = Figures.wrapped(text, width - column)
        let lines = wrapped.enumerated().map { ($0.offset == 0 ? head : space) + $0.element }
        return lines.flatMap { $0.split(separator: "\n").map { String($0) } }
    }

    private static func paragraph(_ text: String) -> [String] { Figures.wrapped(text, width) + [""] }
}
