import KiiPush
import KiiPushRules
import KiiPushAgent
import KiiPushSystem
import KiiPushTesting

/// `kiipush rules diff`: finds the messages of a captured corpus that another version of the rules treats differently.
struct RulesDiffCommand: ReadsRules {
    var params = ParameterOptions()
    private var old = ""
    private var new = ""
    private var corpus = ""
    private var examples = 3
    private var format = ReportFormat.text

    static let table = OptionTable<RulesDiffCommand>([
        .value(
            "--corpus", "FILE",
            #"the messages, one per line: {"at":"2s","transport":"mqtt","payload":{…}}, or "raw" with the bytes as a "#
                + #"string; - for standard input"#, completes: .file
        ) { $0.corpus = $1 },
        .value(
            "--limit", "N", "the most examples shown for each change; 3 if not given",
            as: Arguments.number(0...10_000)
        ) { $0.examples = $1 },
        .params, .param,
        .format("text for people (the default), or json: one object a change, and a summary") { $0.format = $1 },
    ])

    static func run(_ arguments: [String], _ console: Console) async -> ExitCode {
        let reading = Self.command.read(arguments, by: table, into: RulesDiffCommand(), console) {
            options, operands throws(Arguments.Mistake) in
            guard operands.count == 2 else { throw Arguments.Mistake(text: "expected two rules files") }
            guard !options.corpus.isEmpty else { throw Arguments.Mistake(text: "--corpus FILE is missing") }
            (options.old, options.new) = (operands[0], operands[1])
            guard [options.old, options.new, options.corpus].count(where: { $0 == "-" }) <= 1 else {
                throw Arguments.Mistake(text: "standard input can be only one of the files")
            }
        }
        guard case .options(let options) = reading else { return reading.code }
        return await options.compare(console)
    }

    private func compare(_ console: Console) async -> ExitCode {
        let files = [old, new].map { RulesFile.load($0, params, console) }
        guard let oldRules = files[0], let newRules = files[1] else { return .unanswered }
        do {
            var diff = RulesDiff(
                old: try TestReceiver(rules: oldRules), new: try TestReceiver(rules: newRules), examples: examples)
            let isReadable = try await replay(into: &diff, console)
            if diff.messages == 0 {
                console.error("\(escaped(corpus)):1:1: the corpus is empty; nothing to compare")
            }
            switch format {
            case .text where diff.messages == 0: break
            case .text: for line in diff.lines(old: old, new: new, corpus: corpus) { console.print(line) }
            case .json: for line in diff.jsonLines { console.print(line) }
            }
            // An unreadable line may be the one that changes.
            guard isReadable, diff.messages > 0 else { return .unanswered }
            return diff.changed == 0 ? .fine : .failed
        } catch {
            console.error(escaped("\(error)"))
            return .unanswered
        }
    }

    /// Sends the corpus through both versions, a line at a time; returns whether every line could be read.
    private func replay(into diff: inout RulesDiff, _ console: Console) async throws(ReadError) -> Bool {
        var reader = RuleCorpus(file: escaped(corpus))
        return try await CorpusFile(path: corpus, console: console).eachLine { bytes, number in
            let step = try reader.step(bytes, number: number)
            if case .receive(let incoming) = step.action {
                let payload = incoming.payload
                await diff.send(payload, at: step.at, line: number)
            }
            return true
        }
    }

    static let command = Command(
        name: "rules diff", summary: "shows which captured messages two versions of rules handle differently",
        usage: ["[OPTION…] OLD NEW --corpus FILE"], options: table.texts, operands: .file,
        notes: [
            .text(
                "Each version gets all messages in order, on a clock that follows \"at\", in its own receiver, so "
                    + "messages dropped as duplicates or as loops also show. Handlers do nothing and succeed. For "
                    + "\"maxAge\", the date starts at the first message's \"when\" and advances with \"at\".")
        ],
        exits: [
            (.fine, "no message is handled differently"), (.failed, "a message is handled differently"),
            (.unanswered, "a file cannot be read, or the corpus has no messages"),
        ],
        action: { arguments, console in await run(arguments, console) })
}
