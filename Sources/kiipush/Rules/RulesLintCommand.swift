import KiiPush
import KiiPushAgent
import KiiPushRules
import KiiPushSystem

struct RulesLintCommand: CommandWithOptions, ReadsRules {
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

    mutating func check(_ operands: [String]) throws(Arguments.Mistake) {
        if operands.isEmpty { throw Arguments.Mistake(text: "expected a rules file") }
        files = operands
        try Arguments.checkStandardInput(operands + [corpus])
    }

    func run(_ console: Console) async -> ExitCode {
        let code = files.map { lint($0, console) }.max() ?? .fine
        return max(code, await checkCorpus(console))
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
            if isEmpty { console.error("\(escaped(corpus)):1:1: the corpus has no messages; nothing to check") }
            for finding in findings.all {
                switch format {
                case .text:
                    let text = "\(corpus):\(finding.line):1: warning: \(finding.message) [\(finding.code)]"
                    console.error(console.errorInk.located(escaped(text)))
                case .json:
                    let place = SourcePosition(line: finding.line, column: 1)
                    console.print(Self.json(corpus, place, .warning, finding.code, rule: nil, finding.message))
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
            case .json:
                console.print(
                    Self.json(
                        finding.file, finding.position, finding.severity, finding.name, rule: finding.rule,
                        finding.what, related: finding.related))
            }
        }
        if format == .text {
            let counts = "\(counted(errors, "error")), \(counted(findings.count - errors, "warning"))"
            let summary = findings.isEmpty ? "nothing found" : counts
            console.print("\(escaped(rules.file)): \(counted(rules.rules.count, "rule")): \(summary)")
        }
        return errors > 0 || isStrict && !findings.isEmpty ? .failed : .fine
    }

    private static func json(
        _ file: String, _ position: SourcePosition, _ severity: RuleFinding.Severity, _ code: String, rule: String?,
        _ message: String, related: [RuleFinding.Related] = []
    ) -> String {
        JSONWriter.object { writer in
            writer.member("file", file)
            writer.place(position)
            writer.member("severity", severity.rawValue)
            writer.member("code", code)
            writer.member("rule", rule)
            writer.member("message", message)
            writer.objects("related", related) { writer, related in
                writer.place(related.position)
                writer.member("message", related.what)
            }
        }
    }

    static let description = Command(
        name: "rules lint", summary: "finds mistakes in rules files", usage: ["[OPTION…] FILE…"],
        operands: .file,
        notes: [
            "Errors are certain: a rule that never matches, because its conditions exclude each other or earlier "
                + "rules match first; rules that feed each other, all with an unlimited pace; an unknown handler. "
                + "Warnings may be intended: a loop that the loop guard will slow, an event unknown to Kii, an "
                + "unused handler, a program that this machine does not have or cannot start.",
            "Findings are reported on standard error as FILE:LINE:COLUMN: SEVERITY: MESSAGE [CODE]; with --format "
                + "json, on standard output, where an unreadable file is an object with \"problems\".",
            "With --corpus, the warnings also name captured messages that rules read wrongly or not at all: times "
                + "in seconds, Kii's keys inside other values, and payloads that cannot be decoded. Each is "
                + "reported once, with its first line.",
        ],
        exits: [
            (.fine, "no errors"),
            (.failed, "an error, or a warning under --strict, or a file cannot be read, or the corpus is empty"),
        ])
}

/// What is wrong with the messages of a corpus: each finding once, with its first line and the number of lines.
final class CorpusFindings {
    struct Finding {
        let line: Int
        let code: String
        let what: String
        var count = 1

        var message: String { count == 1 ? what : "\(what) (and \(counted(count - 1, "more line")))" }
    }

    /// The findings, in the order of their first lines; bounded, because few texts differ.
    private(set) var all: [Finding] = []
    private var reader: RuleCorpus

    private static let most = 100

    init(corpus: String) { reader = RuleCorpus(file: escaped(corpus)) }

    /// Takes a line of the corpus; returns true, for more.
    func take(_ bytes: [UInt8], _ number: Int) throws -> Bool {
        let step = try reader.step(bytes, number: number)
        guard case .receive(let incoming) = step.action else { return true }
        do throws(DecodeError) {
            let message = try PushMessage(incoming.payload)
            for hint in message.hints { add("messageHint", hint, number) }
        } catch {
            add("undecodable", "the payload cannot be decoded: \(error.code.rawValue)", number)
        }
        return true
    }

    private func add(_ code: String, _ what: String, _ line: Int) {
        if let index = all.firstIndex(where: { $0.code == code && $0.what == what }) {
            all[index].count += 1
        } else if all.count < Self.most {
            all.append(Finding(line: line, code: code, what: what))
        }
    }
}
