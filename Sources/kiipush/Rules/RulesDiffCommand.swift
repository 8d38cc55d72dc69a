import KiiPush
import KiiPushRules
import KiiPushAgent
import KiiPushSystem
import KiiPushTesting

struct RulesDiffCommand: CommandWithOptions, ReadsRules {
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

    mutating func check(_ operands: [String]) throws(Arguments.Mistake) {
        guard operands.count == 2 else { throw Arguments.Mistake(text: "expected two rules files") }
        guard !corpus.isEmpty else { throw Arguments.Mistake(text: "--corpus FILE is missing") }
        (old, new) = (operands[0], operands[1])
        try Arguments.checkStandardInput([old, new, corpus])
    }

    func run(_ console: Console) async -> ExitCode {
        let files = [old, new].map { RulesFile.load($0, params, console) }
        guard let oldRules = files[0], let newRules = files[1] else { return .unanswered }
        do {
            var diff = RulesDiff(
                old: try TestReceiver(rules: oldRules), new: try TestReceiver(rules: newRules), examples: examples)
            let isReadable = try await replay(into: &diff, console)
            if diff.messages == 0 {
                console.error("\(escaped(corpus)):1:1: the corpus has no messages; nothing to compare")
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

    static let description = Command(
        name: "rules diff", summary: "shows which captured messages two versions of rules handle differently",
        usage: ["[OPTION…] OLD NEW --corpus FILE"], operands: .file,
        notes: [
            "Each version gets all messages in order, on a clock that follows \"at\", in its own receiver, so "
                + "messages dropped as duplicates or as loops also show. Handlers do nothing and succeed. For "
                + "\"maxAge\", the date starts at the first message's \"when\" and advances with \"at\"."
        ],
        exits: [
            (.fine, "no message is handled differently"), (.failed, "a message is handled differently"),
            (.unanswered, "a file cannot be read, or the corpus has no messages"),
        ])
}

/// Sends messages through two versions of rules and counts, by kind of change, those with different results.
struct RulesDiff {
    struct Fate: Hashable {
        let outcome: String
        let reason: String?
        let rules: [String]
        let handlers: [String]

        init(_ receipt: TestReceipt) {
            outcome = receipt.outcome.name
            reason = receipt.outcome.reason
            rules = receipt.routes
            handlers = receipt.handlers
        }

        /// The result in a few words, such as `handled by settings` or `duplicate (done)`.
        var words: String {
            let name = reason.map { "\(outcome) (\($0))" } ?? outcome
            guard !rules.isEmpty else { return name }
            let by = "\(name) by \(rules.joined(separator: ", "))"
            // Handlers are named if they differ from the rules' ids.
            return handlers.isEmpty || handlers == rules ? by : "\(by), calling \(handlers.joined(separator: ", "))"
        }
    }

    private struct Change: Hashable {
        let old: Fate
        let new: Fate
    }

    fileprivate struct Tally {
        var count = 0
        var lines: [Int] = []
    }

    /// The most kinds of change that are distinguished; further ones are counted together.
    private static let mostChanges = 1000

    private let old: TestReceiver
    private let new: TestReceiver
    private let examples: Int
    /// By kind of change; nil for further ones.
    private var tallies: [Change?: Tally] = [:]
    private var elapsed = Duration.zero
    private(set) var messages = 0
    private(set) var changed = 0

    init(old: TestReceiver, new: TestReceiver, examples: Int) {
        self.old = old
        self.new = new
        self.examples = examples
    }

    mutating func send(_ payload: RawPayload, at time: Duration, line: Int) async {
        await old.advance(by: time - elapsed)
        await new.advance(by: time - elapsed)
        elapsed = time
        old.startWallClock(with: payload)
        new.startWallClock(with: payload)
        let change = Change(old: Fate(await old.send(payload)), new: Fate(await new.send(payload)))
        messages += 1
        guard change.old != change.new else { return }
        changed += 1
        let key = tallies[change] != nil || tallies.count < Self.mostChanges ? change : nil
        tallies[key, default: Tally()].count += 1
        if tallies[key]?.lines.count ?? 0 < examples { tallies[key]?.lines.append(line) }
    }

    /// The most frequent first, and what was counted together last.
    private var inOrder: [(change: Change?, tally: Tally)] {
        tallies.map { (change: $0.key, tally: $0.value) }.sorted { left, right in
            guard let first = left.change, let second = right.change else { return left.change != nil }
            if left.tally.count != right.tally.count { return left.tally.count > right.tally.count }
            if left.tally.lines.first != right.tally.lines.first {
                return left.tally.lines.first ?? .max < right.tally.lines.first ?? .max
            }
            return (first.old.words, first.new.words) < (second.old.words, second.new.words)
        }
    }

    // MARK: Text

    func lines(old: String, new: String, corpus: String) -> [String] {
        var lines = [
            "\(escaped(corpus)): \(counted(messages, "message")), \(changed) "
                + "end\(changed == 1 ? "s" : "") otherwise under \(escaped(new)) than under \(escaped(old))"
        ]
        for (change, tally) in inOrder {
            lines.append("")
            let count = Figures.column("\(tally.count)", 7, isRight: true)
            if let change {
                lines.append("\(count)  was  \(escaped(change.old.words))")
                lines.append("         now  \(escaped(change.new.words))")
            } else {
                lines.append("\(count)  in other ways")
            }
            if change == nil || !tally.lines.isEmpty { lines.append("         \(Self.examples(tally, corpus))") }
        }
        return lines
    }

    private static func examples(_ tally: Tally, _ corpus: String) -> String {
        let places = tally.lines.map { "\(escaped(corpus)):\($0)" }.joined(separator: ", ")
        return "at   \(places)\(tally.count > tally.lines.count ? ", …" : "")"
    }

    // MARK: JSON

    var jsonLines: [String] {
        let lines = inOrder.map { change, tally in
            JSONWriter.object { writer in
                for (name, fate) in [("old", change?.old), ("new", change?.new)] {
                    writer.key(name)
                    if let fate { fate.write(to: &writer) } else { writer.null() }
                }
                writer.member("count", tally.count)
                writer.list("lines", tally.lines) { $0.integer(Int64($1)) }
            }
        }
        let summary = JSONWriter.object { writer in
            writer.member("messages", messages)
            writer.member("changed", changed)
        }
        return lines + [summary]
    }
}

extension RulesDiff.Fate {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("outcome", outcome)
            writer.member("reason", reason)
            writer.member("rules", rules)
            writer.member("handlers", handlers)
        }
    }
}
