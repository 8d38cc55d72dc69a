import KiiPush
import KiiPushLinux
import KiiPushTesting

/// `kiipush rules diff`: which messages of a captured corpus another version of the rules treats otherwise.
struct RulesDiffCommand {
    private var old = ""
    private var new = ""
    private var corpus = ""
    private var examples = 3
    private var format = ReportFormat.text
    private var wantsHelp = false

    private init(_ arguments: [String]) throws(Arguments.Mistake) {
        var arguments = Arguments(arguments)
        while let option = try arguments.nextOption() {
            switch option {
            case "--corpus": corpus = try arguments.value(of: option)
            case "--limit":
                let text = try arguments.value(of: option)
                guard let number = Int(text), (0...10_000).contains(number) else {
                    throw Arguments.Mistake(text: "--limit takes a number from 0 to 10000, not '\(escaped(text))'")
                }
                examples = number
            case "--format": format = try arguments.value(of: option, among: ReportFormat.choices)
            case "--help", "-h": wantsHelp = true
            default: throw Arguments.Mistake(unknown: option, known: ["--corpus", "--limit", "--format"])
            }
        }
        if wantsHelp { return }
        guard arguments.operands.count == 2 else { throw Arguments.Mistake(text: "it needs two rules files") }
        guard !corpus.isEmpty else { throw Arguments.Mistake(text: "it needs a corpus: --corpus FILE") }
        (old, new) = (arguments.operands[0], arguments.operands[1])
        guard [old, new, corpus].count(where: { $0 == "-" }) <= 1 else {
            throw Arguments.Mistake(text: "standard input can be only one of the files")
        }
    }

    static func run(_ arguments: [String], _ console: Console) async -> ExitCode {
        do {
            let command = try RulesDiffCommand(arguments)
            if command.wantsHelp {
                console.print(help)
                return .fine
            }
            return await command.compare(console)
        } catch {
            console.error("kiipush rules diff: \(error.text); try 'kiipush rules diff --help'")
            return .usage
        }
    }

    private func compare(_ console: Console) async -> ExitCode {
        let files = [old, new].map { RulesFile.load($0, console) }
        guard let oldRules = files[0], let newRules = files[1] else { return .failed }
        do {
            var diff = RulesDiff(
                old: try TestReceiver(rules: oldRules), new: try TestReceiver(rules: newRules), examples: examples)
            let isReadable = try await replay(into: &diff, console)
            if diff.messages == 0 {
                console.error("\(escaped(corpus)):1:1: there is nothing to compare: the corpus has no message")
            }
            switch format {
            case .text where diff.messages == 0: break
            case .text: for line in diff.lines(old: old, new: new, corpus: corpus) { console.print(line) }
            case .json: for line in diff.jsonLines { console.print(line) }
            }
            return isReadable && diff.messages > 0 && diff.changed == 0 ? .fine : .failed
        } catch {
            console.error(escaped("\(error)"))
            return .failed
        }
    }

    /// The most lines whose errors are told.
    ///
    /// As many before the first readable one make a file that is no corpus.
    private static let mostBadLines = 20

    /// Sends the corpus through both, a line at a time; returns whether every line could be read.
    private func replay(into diff: inout RulesDiff, _ console: Console) async throws(ReadError) -> Bool {
        var lines = LineReader(
            corpus == "-" ? .standardInput() : try ByteReader(path: corpus), limit: Self.mostBytesOfLine)
        var reader = RuleCorpus(file: escaped(corpus))
        var badLines = 0
        while let line = try lines.next() {
            switch line {
            case .tooLong(let number):
                badLines += 1
                if badLines <= Self.mostBadLines {
                    console.error(
                        "\(escaped(corpus)):\(number):1: the line has more than \(Self.mostBytesOfLine) bytes")
                }
            case .bytes(let bytes, let number):
                if bytes.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }) { continue }
                do throws(RulesError) {
                    let step = try reader.step(bytes, number: number)
                    guard case .receive(let incoming) = step.action else { continue }
                    let payload = RawPayload(incoming.bytes, transport: incoming.transport)
                    await diff.send(payload, at: step.at, line: number)
                } catch {
                    badLines += 1
                    if badLines <= Self.mostBadLines { RulesFile.report(error, console) }
                }
            }
            if badLines == Self.mostBadLines, diff.messages == 0 {
                console.error(
                    "\(escaped(corpus)):1:1: stopped after \(badLines) lines, none of which is a step; a corpus is JSONL: one step a line"
                )
                return false
            }
        }
        if badLines > Self.mostBadLines {
            console.error("\(escaped(corpus)):1:1: and \(badLines - Self.mostBadLines) more lines that are no steps")
        }
        return badLines == 0
    }

    /// Room for the largest payload with every byte escaped, and what stands around it.
    private static let mostBytesOfLine = PayloadLimits.standard.bytes * 6 + 4096

    static let help = """
        kiipush rules diff: says which captured messages another version of the rules treats otherwise

        usage: kiipush rules diff [OPTION…] OLD NEW --corpus FILE

          --corpus FILE     the messages, one a line: {"at":"2s","transport":"mqtt","payload":{…}}, or "raw"
                            with the bytes as a string; - for standard input
          --limit N         how many examples are shown of each change, 3 if not given
          --format FORMAT   text for people (the default), or json: one object a change, and a summary
          --help            shows this

        Both versions see all messages in order, on a clock that follows "at", each with a receiver of its
        own: what one drops as a duplicate or cuts as a loop shows too. Handlers do nothing and succeed. For
        "maxAge", the date is that of the first message's "when", and goes on with "at".
        Exit codes: 0 no message changes; 1 one does, or something cannot be read; 64 wrong usage.
        """
}
