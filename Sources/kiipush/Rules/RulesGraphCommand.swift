import KiiPush
import KiiPushAgent
import KiiPushRules

struct RulesGraphCommand: CommandWithOptions, ReadsRules {
    var params = ParameterOptions()
    private var file = ""

    static let table = OptionTable<RulesGraphCommand>([.params, .param])

    mutating func check(_ operands: [String]) throws(Arguments.Mistake) {
        guard operands.count == 1 else { throw Arguments.Mistake(text: "expected one rules file") }
        file = operands[0]
    }

    func run(_ console: Console) -> ExitCode {
        guard let rules = RulesFile.load(file, params, console) else { return .failed }
        console.print(MermaidText(rules).text)
        return .fine
    }

    static let description = Command(
        name: "rules graph", summary: "draws the rules of a file, with their handlers and their writes, in Mermaid",
        usage: ["[OPTION…] FILE"], operands: .file,
        notes: [
            "Put the text into a code block 'mermaid' of a Markdown page. Rules appear in order, each with its "
                + "conditions and its handler. A message follows the solid line until a rule matches, and a thick "
                + "line where that rule has \"continue\". A dashed line connects a rule to the rules that its "
                + "writes trigger; it is thick if they form a loop."
        ],
        exits: [(.fine, "drawn"), (.failed, "the rules cannot be read")],
        examples: ["kiipush rules graph rules.json > rules.mmd"])
}

/// A picture of rules in Mermaid's language, which many Markdown sites render.
struct MermaidText {
    private static let longestLine = 56
    private static let mostConditions = 12

    private var lines: [String]
    private var edges = Edges()

    init(_ rules: RoutingRules) {
        lines = ["%% \(Self.shown(rules.file))", "flowchart TD"]
        let last = drawStages(PushReceiver(rules: rules).middleware)
        let feeds = rules.feeds
        draw(rules.rules, behind: last, inCycle: Set(feeds.filter(\.isInCycle).flatMap { [$0.from, $0.to] }))
        draw(feeds)
    }

    var text: String {
        let styles = [
            Self.style("box", .box, .boxEdge), Self.style("stage", .stage, .stageEdge),
            Self.style("rule", .ground, .boxEdge), Self.style("cycle", .loop, .loopEdge),
            Self.style("handler", .handler, .handlerEdge),
        ]
        return (lines + edges.lines + styles).joined(separator: "\n")
    }

    // MARK: Drawing

    /// Draws the stages before the rules, and returns the last one's name.
    private mutating func drawStages(_ middleware: [String]) -> String {
        let stages = ["transport", "decode"] + middleware
        for (number, stage) in stages.enumerated() {
            lines.append("  p\(number)(\"\(Self.escape(stage))\"):::\(number < 2 ? "box" : "stage")")
            if number > 0 { edges.add("p\(number - 1) --> p\(number)") }
        }
        return "p\(stages.count - 1)"
    }

    private mutating func draw(_ rules: [RoutingRule], behind stage: String, inCycle: Set<Int>) {
        // A message passes only the rules for messages, and a gap those for gaps.
        var earlier: [Bool: Int] = [:]
        var actions: [String] = []
        var numbers: [String: Int] = [:]
        for (number, rule) in rules.enumerated() {
            let isInCycle = inCycle.contains(number)
            let rows =
                ["<b>\(number + 1) \(Self.escape(Self.shown(rule.id)))</b>"]
                + Self.conditions(rule).map(Self.escape)
                + Self.writes(rule).map { "writes \(Self.escape($0))" } + (isInCycle ? ["part of a loop"] : [])
            lines.append("  r\(number)(\"\(rows.joined(separator: "<br/>"))\"):::\(isInCycle ? "cycle" : "rule")")
            let name = Self.name(rule.action)
            let action = numbers[name] ?? actions.count
            if action == actions.count {
                actions.append(name)
                numbers[name] = action
            }
            edges.add("r\(number) --> h\(action)", .handlerEdge)
            let isGap = rule.criteria.isGap
            if let before = earlier.updateValue(number, forKey: isGap) {
                let goesOn = rules[before].options.flow == .continue
                edges.add("r\(before) \(goesOn ? "==>|continue|" : "-->") r\(number)", goesOn ? .stageEdge : nil)
            } else {
                edges.add("\(stage) \(isGap ? "-->|gap|" : "-->") r\(number)")
            }
        }
        for (number, name) in actions.enumerated() { lines.append("  h\(number)(\"\(Self.escape(name))\"):::handler") }
    }

    /// Draws the writes that rules match; those that look the same once.
    private mutating func draw(_ feeds: [RuleFeed]) {
        var seen: Set<String> = []
        for feed in feeds {
            let target = Self.escape(Self.shown(feed.target.description))
            let edge = "r\(feed.from) -.->|\"writes \(target)\"| r\(feed.to)"
            guard seen.insert(edge).inserted else { continue }
            edges.add(edge, feed.isInCycle ? .loopEdge : .write, isThick: feed.isInCycle)
        }
    }

    /// Sets the text's colour too, since a dark page would draw light text on a light box.
    private static func style(_ name: String, _ fill: GraphInk, _ edge: GraphInk) -> String {
        "  classDef \(name) fill:\(fill.rawValue),stroke:\(edge.rawValue),color:\(GraphInk.text.rawValue)"
    }

    /// Edges, which styles refer to by number.
    private struct Edges {
        private var edges: [String] = []
        private var styles: [String: [Int]] = [:]

        mutating func add(_ edge: String, _ ink: GraphInk? = nil, isThick: Bool = false) {
            if let ink {
                let style = "stroke:\(ink.rawValue)\(isThick ? ",stroke-width:3px" : "")"
                styles[style, default: []].append(edges.count)
            }
            edges.append("  " + edge)
        }

        var lines: [String] {
            edges
                + styles.sorted { $0.key < $1.key }.map { style, numbers in
                    "  linkStyle \(numbers.map { String($0) }.joined(separator: ",")) \(style)"
                }
        }
    }

    // MARK: Words

    /// The rule's conditions, a line each: `bucket = "settings"`.
    private static func conditions(_ rule: RoutingRule) -> [String] {
        let wanted = rule.wanted
        var lines = wanted.prefix(mostConditions).map { name, key, text in
            shown("\(key.map { "data \($0)" } ?? name) = \(text)")
        }
        if lines.isEmpty { lines = [rule.criteria.isGap ? "any gap" : "any message"] }
        if wanted.count > mostConditions { lines.append("and \(wanted.count - mostConditions) more") }
        return lines
    }

    private static func writes(_ rule: RoutingRule) -> [String] {
        let shown = rule.targets.prefix(mostConditions).map { Self.shown($0.uri.description) }
        let left = rule.targets.count - shown.count
        return left > 0 ? shown + ["\(left) more"] : shown
    }

    private static func name(_ action: RoutingRule.Action) -> String {
        switch action {
        case .handler(let name): shown(name)
        case .run(let arguments): shown("run " + arguments.joined(separator: " "))
        case .print: "print"
        case .write(let write): "write \(shown(write.object.uri.description))"
        case .send(let push): "send \(shown(push.topic.uri.description))"
        }
    }

    private static func shown(_ text: String) -> String {
        let safe = escaped(text)
        return safe.count <= longestLine ? safe : safe.prefix(longestLine - 1) + "…"
    }

    /// A text inside a quoted label: characters with a meaning there, or in HTML, become numeric entities.
    private static func escape(_ text: String) -> String {
        text.replacingScalars { "\"#<>&`\\;%*_~|{}[]".unicodeScalars.contains($0) ? "#\($0.value);" : nil }
    }
}

/// The colours of a picture of rules, shared with the guides' pictures and `kiipush report`.
///
/// They differ in lightness too, and colour is never the only sign: a loop's lines are thick, `continue` is a word.
enum GraphInk: String {
    case ground = "#ffffff"
    case text = "#1b1f24"
    case box = "#f5f6f8"
    case boxEdge = "#8b949e"
    case stage = "#e3eef8"
    case stageEdge = "#0b5cad"
    case handler = "#dff3ec"
    case handlerEdge = "#00694d"
    case write = "#8a6100"
    case loop = "#fdeee6"
    case loopEdge = "#b3400a"
}
