/// A picture of rules in the language of Mermaid, which Markdown on many sites shows.
struct MermaidText {
    let text: String

    init(_ graph: RulesGraph) {
        var lines = ["%% \(graph.file)", "flowchart TD"]
        var edges = Edges()
        for (number, stage) in graph.stages.enumerated() {
            lines.append("  p\(number)([\"\(Self.escape(stage))\"])")
            let next = number + 1 < graph.stages.count ? "p\(number + 1)" : graph.nodes.isEmpty ? nil : "r0"
            if let next { edges.add("p\(number) --> \(next)") }
        }
        for (number, node) in graph.nodes.enumerated() {
            let rows = ["<b>\(number + 1) \(Self.escape(node.id))</b>"] + node.conditions.map(Self.escape)
            lines.append("  r\(number)[\"\(rows.joined(separator: "<br/>"))\"]\(node.isInCycle ? ":::cycle" : "")")
        }
        for (number, name) in graph.actions.enumerated() {
            lines.append("  h\(number)[[\"\(Self.escape(name))\"]]:::handler")
        }
        for (number, node) in graph.nodes.enumerated() {
            edges.add("r\(number) --> h\(node.action)", style: "stroke:#4a7fb5")
            guard number + 1 < graph.nodes.count else { continue }
            if node.continues {
                edges.add("r\(number) ==>|continue| r\(number + 1)", style: "stroke:#2e8b57")
            } else {
                edges.add("r\(number) --> r\(number + 1)")
            }
        }
        for feed in graph.feeds {
            edges.add(
                "r\(feed.from) -.->|\"writes \(Self.escape(feed.target))\"| r\(feed.to)",
                style: feed.isInCycle ? "stroke:#cc0000,stroke-width:2px" : "stroke:#8a6d3b")
        }
        lines += edges.lines
        lines.append("  classDef cycle fill:#fdeaea,stroke:#cc0000")
        lines.append("  classDef handler fill:#dcebfb,stroke:#4a7fb5")
        text = lines.joined(separator: "\n")
    }

    /// Edges, which styles name by their numbers.
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

    /// A text inside a quoted label: what means something there, or to the HTML behind it, as an entity by number.
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
