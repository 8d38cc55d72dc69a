import KiiPush
import KiiPushAgent
import KiiPushRules

/// A picture of rules in Mermaid's language, which many Markdown sites render.
struct MermaidText {
    private static let longestLine = 56
    private static let mostConditions = 12

    private var lines: [String]
    private var edges = Edges()

    init(_ rules: RoutingRules) {
        lines = ["%% \(Self.shown(rules.file))", "flowchart TD"]
        draw(before: ["transport", "decode"], PushReceiver(rules: rules).middleware, hasRules: !rules.rules.isEmpty)
        let feeds = rules.feeds
        draw(rules.rules, inCycle: Set(feeds.filter(\.isInCycle).flatMap { [$0.from, $0.to] }))
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

    /// Draws the stages before the rules, in order.
    private mutating func draw(before: [String], _ middleware: [String], hasRules: Bool) {
        let stages = before + middleware
        for (number, stage) in stages.enumerated() {
            let style = number < before.count ? "box" : "stage"
            lines.append("  p\(number)(\"\(Self.escape(stage))\"):::\(style)")
            let next = number + 1 < stages.count ? "p\(number + 1)" : hasRules ? "r0" : nil
            if let next { edges.add("p\(number) --> \(next)") }
        }
    }

    /// Draws the rules, and each of their actions once.
    private mutating func draw(_ rules: [RoutingRule], inCycle: Set<Int>) {
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
            edges.add("r\(number) --> h\(action)", style: "stroke:\(GraphInk.handlerEdge.rawValue)")
            guard number + 1 < rules.count else { continue }
            if rule.options.flow == .continue {
                edges.add("r\(number) ==>|continue| r\(number + 1)", style: "stroke:\(GraphInk.stageEdge.rawValue)")
            } else {
                edges.add("r\(number) --> r\(number + 1)")
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
            edges.add(
                edge,
                style: "stroke:\(GraphInk.feed(isInCycle: feed.isInCycle).rawValue)"
                    + (feed.isInCycle ? ",stroke-width:3px" : ""))
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

        mutating func add(_ edge: String, style: String? = nil) {
            if let style { styles[style, default: []].append(edges.count) }
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
        if lines.isEmpty { lines = ["any message"] }
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

    /// A text for a label: escaped and truncated.
    private static func shown(_ text: String) -> String {
        let safe = escaped(text)
        return safe.count <= longestLine ? safe : safe.prefix(longestLine - 1) + "…"
    }

    /// A text inside a quoted label: characters with a meaning there, or in HTML, become numeric entities.
    private static func escape(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "#", "<", ">", "&", "`", "\\", ";", "%", "*", "_", "~", "|", "{", "}", "[", "]":
                escaped += "#\(scalar.value);"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
