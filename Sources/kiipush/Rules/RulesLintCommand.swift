import KiiPush
import KiiPushAgent
import KiiPushRules
import KiiPushSystem

/// `kiipush rules lint`: finds statements of rules files that have no effect or cannot be meant.
struct RulesLintCommand: ReadsRules {
    var params = ParameterOptions()
    private var files: [String] = []
    private var isStrict = false
    private var handlers: [String]?
    private var corpus: String?
    private var format = ReportFormat.text

    static let table = OptionTable<RulesLintCommand>([
        .flag("--strict", "exits with 1 on warnings also") { $0.isStrict = true },
        .value(
            "--handlers", "A,B,C",
            "the handlers that the program registers: unknown ones are errors, unused ones warnings"
        ) { $0.handlers = ($0.handlers ?? []) + $1.split(separator: ",").map { String($0) } },
        .value(
            "--corpus", "FILE", "also checks captured messages, one step a line (- is standard input)"
        ) { $0.corpus = $1 },
        .params, .param,
        .format("text for people (the default), or json: one object a finding, on one line") { $0.format = $1 },
    ])

    static func run(_ arguments: [String], _ console: Console) async -> ExitCode {
        let reading = Self.command.read(arguments, by: table, into: RulesLintCommand(), console) {
            options, operands throws(Arguments.Mistake) in
            if operands.isEmpty { throw Arguments.Mistake(text: "expected a rules file") }
            options.files = operands
            guard (operands + [options.corpus]).count(where: { $0 == "-" }) <= 1 else {
                throw Arguments.Mistake(text: "standard input can be only one of the files")
            }
        }
        guard case .options(let options) = reading else { return reading.code }
        let code = options.files.map { options.lint($0, console) }.max() ?? .fine
        return max(code, await options.checkCorpus(console))
    }

    /// Checks the captured messages, whatever the rules: each finding once, with the first line that it is of.
    private func checkCorpus(_ console: Console) async -> ExitCode {
        guard let corpus else { return .fine }
        let findings = CorpusFindings(corpus: corpus)
        var isEmpty = true
        do throws(ReadError) {
            let isReadable = try await CorpusFile(path: corpus, console: console)
                .eachLine { bytes, number in
                    isEmpty = false
                    return try findings.take(bytes, number)
                }
            if isEmpty { console.error("\(escaped(corpus)):1:1: the corpus is empty; nothing to check") }
            for finding in findings.all {
                switch format {
                case .text: console.error(console.errorInk.located(escaped(finding.text)))
                case .json: console.print(finding.json)
                }
            }
            return !isReadable || isEmpty || isStrict && !findings.all.isEmpty ? .failed : .fine
        } catch {
            console.error("\(error)")
            return .failed
        }
    }

    private func lint(_ file: String, _ console: Console) -> ExitCode {
        guard let rules = RulesFile.load(file, params, console, format) else { return .failed }
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
        JSONWriter.object { writer in
            writer.member("file", finding.file)
            writer.place(finding.position)
            writer.member("severity", finding.severity.rawValue)
            writer.member("code", finding.code.rawValue)
            writer.member("rule", finding.rule)
            writer.member("message", finding.what)
            writer.objects("related", finding.related) { writer, related in
                writer.place(related.position)
                writer.member("message", related.what)
            }
        }
    }

    static let command = Command(
        name: "rules lint", summary: "finds mistakes in rules files", usage: ["[OPTION…] FILE…"],
        options: table.texts, operands: .file,
        notes: [
            .text(
                "Errors are certain: a rule that never matches, because its conditions exclude each other or earlier "
                    + "rules match first; rules that trigger each other without a rate limit; an unknown handler; a "
                    + "test that cannot pass. Warnings may be intended: a loop that the loop guard will stop, an "
                    + "event unknown to Kii, an unused handler, a program that this machine does not have or cannot "
                    + "start."),
            .text(
                "Findings are reported on standard error as FILE:LINE:COLUMN: SEVERITY: MESSAGE [CODE]; with --format "
                    + "json, on standard output, where an unreadable file is an object with \"problems\"."),
            .text(
                "With --corpus, the warnings also name captured messages that rules read wrongly or not at all: times "
                    + "in seconds, Kii's keys inside other values, and payloads that cannot be decoded. Each is "
                    + "reported once, with its first line."),
        ],
        exits: [
            (.fine, "no errors"),
            (.failed, "an error, or a warning under --strict, or a file cannot be read, or the corpus is empty"),
        ],
        action: { arguments, console in await run(arguments, console) })
}
