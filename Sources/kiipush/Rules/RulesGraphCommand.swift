import KiiPush
import KiiPushAgent

/// `kiipush rules graph`: draws the rules, their actions and their writes.
struct RulesGraphCommand: ReadsRules {
    var params = ParameterOptions()
    private var file = ""

    static let table = OptionTable<RulesGraphCommand>([.params, .param])

    static func run(_ arguments: [String], _ console: Console) -> ExitCode {
        let reading = Self.command.read(arguments, by: table, into: RulesGraphCommand(), console) {
            options, operands throws(Arguments.Mistake) in
            guard operands.count == 1 else { throw Arguments.Mistake(text: "expected one rules file") }
            options.file = operands[0]
        }
        guard case .options(let options) = reading else { return reading.code }
        guard let rules = RulesFile.load(options.file, options.params, console) else { return .failed }
        console.print(MermaidText(rules).text)
        return .fine
    }

    static let command = Command(
        name: "rules graph", summary: "draws the rules of a file, with their handlers and their writes, in Mermaid",
        usage: ["[OPTION…] FILE"], options: table.texts, operands: .file,
        notes: [
            .text(
                "Put the text into a code block 'mermaid' of a Markdown page. Rules appear in order, each with its "
                    + "conditions and its handler. A message follows the solid line until a rule matches, and a thick "
                    + "line where that rule has \"continue\". A dashed line connects a rule to the rules that its "
                    + "writes trigger; it is thick if they form a loop.")
        ],
        exits: [(.fine, "drawn"), (.failed, "the rules cannot be read")],
        examples: ["kiipush rules graph rules.json > rules.mmd"],
        action: { arguments, console in run(arguments, console) })
}
