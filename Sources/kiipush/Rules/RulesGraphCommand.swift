import KiiPush
import KiiPushLinux

/// `kiipush rules graph`: draws the rules, their actions and their writes.
struct RulesGraphCommand {
    private enum Format {
        case dot
        case mermaid
        case svg
    }

    private var file = ""
    private var format = Format.dot

    static let table = OptionTable<RulesGraphCommand>([
        .choice(
            "--format", "FORMAT", "dot for Graphviz (the default), mermaid for Markdown, or svg, which runs Graphviz",
            of: [("dot", .dot), ("mermaid", .mermaid), ("svg", .svg)]
        ) { (options: inout RulesGraphCommand, format: Format) in options.format = format }
    ])

    static func run(_ arguments: [String], _ console: Console) -> ExitCode {
        let reading = Self.command.read(arguments, by: table, into: RulesGraphCommand(), console) {
            options, operands throws(Arguments.Mistake) in
            guard operands.count == 1 else { throw Arguments.Mistake(text: "expected one rules file") }
            options.file = operands[0]
        }
        guard case .options(let options) = reading else { return reading.code }
        guard let rules = RulesFile.load(options.file, console) else { return .failed }
        return options.draw(RulesGraph(rules), console)
    }

    private func draw(_ graph: RulesGraph, _ console: Console) -> ExitCode {
        switch format {
        case .dot: console.print(DotText(graph).text)
        case .mermaid: console.print(MermaidText(graph).text)
        case .svg:
            do {
                console.print(GraphInk.adaptive(try Graphviz.svg(of: DotText(graph).text)))
            } catch {
                console.error("kiipush rules graph: \(escaped(error.description))")
                return .failed
            }
        }
        return .fine
    }

    static let command = Command(
        name: "rules graph", summary: "draws the rules of a file, with their handlers and their writes",
        usage: ["[OPTION…] FILE"], options: table.texts, operands: .file,
        notes: [
            .text(
                "Rules appear in order, each with its conditions and its handler. A message follows the solid line "
                    + "until a rule matches, and a thick line where that rule has \"continue\". A dashed line connects "
                    + "a rule to the rules that its writes trigger; it is thick if they form a loop. In dot and svg, a "
                    + "line that would span more than 8 rules is drawn as a label at both ends, such as \"feeds 4 "
                    + "settings\". An svg follows the viewer's dark mode.")
        ],
        exits: [(.fine, "drawn"), (.failed, "the rules cannot be read, or Graphviz is missing or failed")],
        examples: ["kiipush rules graph --format svg rules.json > rules.svg"],
        action: { arguments, console in run(arguments, console) })
}
