/// A picture of rules in Mermaid's language, which many Markdown sites render.
struct MermaidText {
    let text: String

    init(_ graph: RulesGraph) {
        var lines = ["%% \(graph.file)", "flowchart TD"]
        var edges = Edges()
        for (number, stage) in graph.stages.enumerated() {
            let style = graph.middleware.contains(number) ? "stage" : "box"
            lines.append("  p\(number)(\"\(Self.escape(stage))\"):::\(style)")
            let next = number + 1 < graph.stages.count ? "p\(number + 1)" : graph.nodes.isEmpty ? nil : "r0"
            if let next { edges.add("p\(number) --> \(next)") }
        }
        for (number, node) in graph.nodes.enumerated() {
            let rows =
                ["<b>\(number + 1) \(Self.escape(node.id))</b>"] + node.conditions.map(Self.escape)
                + node.writes.map { "writes \(Self.escape($0))" } + (node.isInCycle ? ["part of a loop"] : [])
            lines.append("  r\(number)(\"\(rows.joined(separator: "<br/>"))\"):::\(node.isInCycle ? "cycle" : "rule")")
        }
        for (number, name) in graph.actions.enumerated() {
            lines.append("  h\(number)(\"\(Self.escape(name))\"):::handler")
        }
        for (number, node) in graph.nodes.enumerated() {
            edges.add("r\(number) --> h\(node.action)", style: "stroke:\(GraphInk.handlerEdge.rawValue)")
            guard number + 1 < graph.nodes.count else { continue }
            if node.continues {
                edges.add("r\(number) ==>|continue| r\(number + 1)", style: "stroke:\(GraphInk.stageEdge.rawValue)")
            } else {
                edges.add("r\(number) --> r\(number + 1)")
            }
        }
        for feed in graph.feeds {
            edges.add(
                "r\(feed.from) -.->|\"writes \(Self.escape(feed.target))\"| r\(feed.to)",
                style: "stroke:\(GraphInk.feed(isInCycle: feed.isInCycle).rawValue)"
                    + (feed.isInCycle ? ",stroke-width:3px" : ""))
        }
        lines += edges.lines
        lines += [
            Self.style("box", .box, .boxEdge), Self.style("stage", .stage, .stageEdge),
            Self.style("rule", .ground, .boxEdge), Self.style("cycle", .loop, .loopEdge),
            Self.style("handler", .handler, .handlerEdge),
        ]
        text = lines.joined(separator: "\n")
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

    /// A text inside a quoted label: characters with a meaning there, or in HTML, become numeric entities.
    static func escape(_ text: String) -> String {
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
