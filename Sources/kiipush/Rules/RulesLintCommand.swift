import KiiPush

/// `kiipush rules lint`: finds what rules files say and cannot mean.
struct RulesLintCommand {
    private var files: [String] = []
    private var isStrict = false
    private var handlers: [String]?
    private var format = ReportFormat.text
    private var wantsHelp = false

    private init(_ arguments: [String]) throws(Arguments.Mistake) {
        var arguments = Arguments(arguments)
        while let option = try arguments.nextOption() {
            switch option {
            case "--strict": isStrict = true
            case "--handlers":
                let names = try arguments.value(of: option).split(separator: ",").map { String($0) }
                handlers = (handlers ?? []) + names
            case "--format": format = try arguments.value(of: option, among: ReportFormat.choices)
            case "--help", "-h": wantsHelp = true
            default: throw Arguments.Mistake(unknown: option, known: ["--strict", "--handlers", "--format"])
            }
        }
        files = arguments.operands
        if files.isEmpty, !wantsHelp { throw Arguments.Mistake(text: "it needs a rules file") }
    }

    static func run(_ arguments: [String], _ console: Console) -> ExitCode {
        do {
            let command = try RulesLintCommand(arguments)
            if command.wantsHelp {
                console.print(help)
                return .fine
            }
            return command.files.map { command.lint($0, console) }.max() ?? .fine
        } catch {
            console.error("kiipush rules lint: \(error.text); try 'kiipush rules lint --help'")
            return .usage
        }
    }

    private func lint(_ file: String, _ console: Console) -> ExitCode {
        guard let rules = RulesFile.load(file, console, format) else { return .failed }
        let findings = rules.lint(handlers: handlers)
        let errors = findings.count { $0.severity == .error }
        for finding in findings {
            switch format {
            case .text: console.error(escaped(finding.description))
            case .json: console.print(Self.json(finding))
            }
        }
        if format == .text {
            let ruleCount = Self.count(rules.rules.count, "rule")
            let summary =
                findings.isEmpty
                ? "nothing found"
                : "\(Self.count(errors, "error")), \(Self.count(findings.count - errors, "warning"))"
            console.print("\(escaped(rules.file)): \(ruleCount): \(summary)")
        }
        return errors > 0 || isStrict && !findings.isEmpty ? .failed : .fine
    }

    private static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }

    private static func json(_ finding: RuleFinding) -> String {
        func write(_ position: SourcePosition, _ writer: inout JSONWriter) {
            writer.member("line", Int64(position.line))
            writer.member("column", Int64(position.column))
        }
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("file", finding.file)
            write(finding.position, &writer)
            for (key, value) in [
                ("severity", finding.severity.rawValue), ("code", finding.code.rawValue), ("rule", finding.rule),
                ("message", finding.what),
            ] {
                writer.member(key, value)
            }
            writer.key("related")
            writer.array { writer in
                for related in finding.related {
                    writer.object { writer in
                        write(related.position, &writer)
                        writer.member("message", related.what)
                    }
                }
            }
        }
        return writer.text
    }

    static let help = """
        kiipush rules lint: finds what rules files say and cannot mean

        usage: kiipush rules lint [OPTION…] FILE…

          --strict           exit with 1 on warnings too
          --handlers A,B,C   the handlers that the program registers: others are errors, unused ones warnings
          --format FORMAT    text for people (the default), or json: one object a finding, on one line
          --help             shows this

        Errors are proved: a rule that never takes a message, since its conditions exclude each other or
        earlier rules take them all; rules that feed each other without a rate limit; an unknown handler;
        a test that cannot pass. Warnings may be right for a file: a loop that the loop guard will end, a
        text that a list has twice, an event that Kii does not know, a handler that no rule names.

        Findings are reported on standard error as FILE:LINE:COLUMN: SEVERITY: WHAT [CODE]; with
        --format json on standard output, where a file that cannot be read has an object with "problems". Exit codes: 0 no errors; 1 an error, or a warning under
        --strict; 64 wrong usage.
        """
}
