import KiiPush
import KiiPushLinux
import KiiPushRules

/// `kiipush rules lint`: finds statements of rules files that have no effect or cannot be meant.
struct RulesLintCommand {
    private var files: [String] = []
    private var isStrict = false
    private var handlers: [String]?
    private var format = ReportFormat.text

    static let table = OptionTable<RulesLintCommand>([
        .flag("--strict", "exits with 1 on warnings also") { $0.isStrict = true },
        .value(
            "--handlers", "A,B,C",
            "the handlers that the program registers: unknown ones are errors, unused ones warnings"
        ) { $0.handlers = ($0.handlers ?? []) + $1.split(separator: ",").map { String($0) } },
        .format("text for people (the default), or json: one object a finding, on one line") { $0.format = $1 },
    ])

    static func run(_ arguments: [String], _ console: Console) -> ExitCode {
        let reading = Self.command.read(arguments, by: table, into: RulesLintCommand(), console) {
            options, operands throws(Arguments.Mistake) in
            if operands.isEmpty { throw Arguments.Mistake(text: "expected a rules file") }
            options.files = operands
        }
        guard case .options(let options) = reading else { return reading.code }
        return options.files.map { options.lint($0, console) }.max() ?? .fine
    }

    private func lint(_ file: String, _ console: Console) -> ExitCode {
        guard let rules = RulesFile.load(file, console, format) else { return .failed }
        let findings = rules.lintHere(handlers: handlers)
        let errors = findings.count { $0.severity == .error }
        for finding in findings {
            switch format {
            case .text: console.error(console.errorInk.located(escaped(finding.description)))
            case .json: console.print(Self.json(finding))
            }
        }
        if format == .text {
            let ruleCount = counted(rules.rules.count, "rule")
            let summary =
                findings.isEmpty
                ? "nothing found"
                : "\(counted(errors, "error")), \(counted(findings.count - errors, "warning"))"
            console.print("\(escaped(rules.file)): \(ruleCount): \(summary)")
        }
        return errors > 0 || isStrict && !findings.isEmpty ? .failed : .fine
    }

    private static func json(_ finding: RuleFinding) -> String {
        func write(_ position: SourcePosition, _ writer: inout JSONWriter) {
            writer.member("line", position.line)
            writer.member("column", position.column)
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
            writer.objects("related", finding.related) { writer, related in
                write(related.position, &writer)
                writer.member("message", related.what)
            }
        }
        return writer.text
    }

    static let command = Command(
        name: "rules lint", summary: "finds mistakes in rules files", usage: ["[OPTION…] FILE…"],
        options: table.texts, operands: .file,
        notes: [
            .text(
                "Errors are certain: a rule that never matches, because its conditions exclude each other or earlier "
                    + "rules match first; rules that trigger each other without a rate limit; an unknown handler; a "
                    + "test that cannot pass. Warnings may be intended: a loop that the loop guard will stop, a text "
                    + "listed twice, an event unknown to Kii, an unused handler, a program that this machine does not have or "
                    + "cannot start."),
            .text(
                "Findings are reported on standard error as FILE:LINE:COLUMN: SEVERITY: MESSAGE [CODE]; with --format "
                    + "json, on standard output, where an unreadable file is an object with \"problems\"."),
        ],
        exits: [
            (.fine, "no errors"),
            (.failed, "an error, or a warning under --strict, or a file cannot be read"),
        ],
        action: { arguments, console in run(arguments, console) })
}
