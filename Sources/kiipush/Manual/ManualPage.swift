import KiiPush
import KiiPushAgent

/// A page of the manual, in section 1: for the tool, or a command with its subcommands.
struct ManualPage {
    private let command: Command
    private let tool: Command

    init(_ command: Command, of tool: Command) { (self.command, self.tool) = (command, tool) }

    /// All pages of a tool, the tool's own first.
    static func all(of tool: Command) -> [ManualPage] { ([tool] + tool.commands).map { ManualPage($0, of: tool) } }

    var name: String { Self.name(command) }

    private static func name(_ command: Command) -> String { command.call.split(separator: " ").joined(separator: "-") }

    var file: String { "\(name).1" }

    var text: String {
        var lines = [
            ".\\\" Made by 'kiipush manual'; changes belong into the tables that its parser goes by.",
            ".TH \(Roff.escaped(name.uppercased())) 1 \(Version.date) \"kiipush \(Version.number)\" \"User Commands\"",
            ".SH NAME", "\(Roff.escaped(name)) \\- \(Roff.escaped(command.summary))", ".SH SYNOPSIS",
        ]
        lines += synopsis(command) + description + commands + options(of: command, heading: ".SH OPTIONS")
        lines += exits(of: command, heading: ".SH EXIT STATUS") + environment + examples + seeAlso
        return lines.joined(separator: "\n")
    }

    // MARK: Sections

    private func synopsis(_ command: Command) -> [String] {
        var lines: [String] = []
        for usage in command.usage {
            if !lines.isEmpty { lines.append(".br") }
            lines.append(".B \(Roff.escaped(command.call))")
            if !usage.isEmpty { lines.append(Roff.escaped(usage)) }
        }
        return lines
    }

    private var description: [String] {
        let head = [".SH DESCRIPTION"] + Roff.text("The command \(command.call) \(command.summary).")
        return head + Self.paragraphs(command.about + command.notes)
    }

    private static func paragraphs(_ texts: [String]) -> [String] { texts.flatMap { [".PP"] + Roff.text($0) } }

    private var commands: [String] {
        if command.commands.isEmpty { return [] }
        var lines = [".SH COMMANDS"]
        for part in command.commands {
            // The tool's commands have their own pages.
            lines +=
                command.name.isEmpty ? item(".B \(Roff.escaped(part.lastWord))", part.summary + ".") : section(part)
        }
        return lines
    }

    private func section(_ part: Command) -> [String] {
        var lines = [".SS \(Roff.escaped(part.call))"] + synopsis(part) + [".PP"]
        lines += Roff.text("It \(part.summary).")
        lines += Self.paragraphs(part.about + part.notes)
        return lines + options(of: part, heading: nil) + exits(of: part, heading: nil)
    }

    private func options(of command: Command, heading: String?) -> [String] {
        var lines = heading.map { [$0] } ?? []
        for (index, group) in command.options.enumerated() {
            // The first paragraph after a heading needs no command.
            if index > 0 || heading == nil, group.heading != nil { lines.append(".PP") }
            if let heading = group.heading { lines += Roff.text(heading + ":") }
            for option in group.options { lines += self.option(option) }
        }
        return lines
    }

    private func option(_ option: OptionText) -> [String] {
        let word = option.word.map { " \\fI\(Roff.escaped($0))\\fR" } ?? ""
        let short = option.short.map { ", \\fB\(Roff.escaped($0))\\fR" } ?? ""
        return item("\\fB\(Roff.escaped(option.name))\\fR\(word)\(short)", option.help + ".")
    }

    private func exits(of command: Command, heading: String?) -> [String] {
        var lines = heading.map { [$0] } ?? [".PP", "Exit status:"]
        for (code, meaning) in command.exitMeanings { lines += item(".B \(code.rawValue)", meaning + ".") }
        return lines
    }

    private var environment: [String] {
        let all = command.name.isEmpty ? tool.all : command.all
        var variables: [(String, String)] = []
        if all.contains(where: { $0.allOptions.contains { $0.name == "--state" } }) {
            variables = [
                ("STATE_DIRECTORY", "The state directory, set by systemd. If it lists several, the first one is used."),
                ("XDG_STATE_HOME", "The parent directory of the state directory kiipush."),
                ("HOME", "If neither is set, the state directory is .local/state/kiipush below it."),
            ]
        }
        variables += [
            ("NO_COLOR", "If set and not empty, disables colours."),
            ("TERM", "If unset or dumb, disables colours."),
        ]
        var lines = [".SH ENVIRONMENT"]
        for (name, text) in variables { lines += item(".B \(name)", text) }
        return lines
    }

    private var examples: [String] {
        let examples = command.all.flatMap { command.name.isEmpty ? [] : $0.examples }
        return examples.isEmpty ? [] : [".SH EXAMPLES"] + Roff.lines(examples)
    }

    private var seeAlso: [String] {
        let others = command.name.isEmpty ? tool.commands : [tool]
        var lines = others.map { ".BR \(Roff.escaped(Self.name($0))) (1)," }
        if let last = lines.popLast() { lines.append(String(last.dropLast())) }
        return [".SH SEE ALSO"] + lines
    }

    private func item(_ term: String, _ text: String) -> [String] { [".TP", term] + Roff.text(text) }
}

/// Texts in the language of manual pages, roff.
enum Roff {
    /// A text inside a line, in which the formatter interprets nothing.
    static func escaped(_ text: String) -> String {
        text.replacingScalars { scalar in
            switch scalar {
            case "\\": "\\e"
            case "-": "\\-"
            case "'": "\\(aq"
            case "`": "\\(ga"
            case "~": "\\(ti"
            case "^": "\\(ha"
            case "…": "..."
            case _ where scalar.isASCII: nil
            default: "\\[u\(scalar.value.digits(4, radix: 16, uppercase: true))]"
            }
        }
    }

    /// Lines of running text, none of which the formatter interprets as a request.
    static func text(_ text: String) -> [String] { Figures.wrapped(text, 68).map { line(escaped($0)) } }

    /// Lines that are shown unchanged.
    static func lines(_ lines: [String]) -> [String] {
        [".RS 4", ".nf"] + lines.map { line(escaped($0)) } + [".fi", ".RE"]
    }

    private static func line(_ line: String) -> String { line.hasPrefix(".") ? "\\&" + line : line }
}
