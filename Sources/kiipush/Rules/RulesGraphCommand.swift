import KiiPush
import KiiPushLinux

/// `kiipush rules graph`: the rules, what they call and what they write, as a picture.
struct RulesGraphCommand {
    private enum Format {
        case dot
        case mermaid
        case svg
    }

    private var file = ""
    private var format = Format.dot
    private var wantsHelp = false

    private init(_ arguments: [String]) throws(Arguments.Mistake) {
        var arguments = Arguments(arguments)
        while let option = try arguments.nextOption() {
            switch option {
            case "--format":
                format = try arguments.value(
                    of: option, among: [("dot", .dot), ("mermaid", .mermaid), ("svg", .svg)])
            case "--help", "-h": wantsHelp = true
            default: throw Arguments.Mistake(unknown: option, known: ["--format"])
            }
        }
        if wantsHelp { return }
        guard arguments.operands.count == 1 else { throw Arguments.Mistake(text: "it needs one rules file") }
        file = arguments.operands[0]
    }

    static func run(_ arguments: [String], _ console: Console) -> ExitCode {
        do {
            let command = try RulesGraphCommand(arguments)
            if command.wantsHelp {
                console.print(help)
                return .fine
            }
            guard let rules = RulesFile.load(command.file, console) else { return .failed }
            let graph = RulesGraph(rules)
            switch command.format {
            case .dot: console.print(DotText(graph).text)
            case .mermaid: console.print(MermaidText(graph).text)
            case .svg:
                do {
                    console.print(try Graphviz.svg(of: DotText(graph).text))
                } catch {
                    console.error("kiipush rules graph: \(escaped(error.description))")
                    return .failed
                }
            }
            return .fine
        } catch {
            console.error("kiipush rules graph: \(error.text); try 'kiipush rules graph --help'")
            return .usage
        }
    }

    static let help = """
        kiipush rules graph: draws the rules of a file, what they call and what they write

        usage: kiipush rules graph [OPTION…] FILE

          --format FORMAT   dot for Graphviz (the default), mermaid for Markdown, or svg, which runs Graphviz
          --help            shows this

        Rules stand in order, each with its conditions and its handler; a message goes down the solid line
        until a rule takes it, and on along a green one where that rule has "continue". A dashed line leads
        from a rule to those that its writes feed, a red one where that comes back to it; in dot and svg one
        that would lead over more than 8 rules is a label at both ends instead, such as "feeds 4  settings".

          kiipush rules graph --format svg rules.json > rules.svg

        Exit codes: 0 drawn; 1 the rules cannot be read, or there is no Graphviz; 64 wrong usage.
        """
}
