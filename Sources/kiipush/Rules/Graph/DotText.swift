/// A picture of rules in the language of Graphviz.
struct DotText {
    let text: String

    init(_ graph: RulesGraph) {
        var lines = [
            "digraph rules {",
            "  graph [rankdir=TB, ordering=out, ranksep=0.28, nodesep=0.5, fontname=\"Helvetica\", fontsize=14, "
                + "labelloc=t, labeljust=l, label=\(Self.quoted(graph.file))];",
            "  node [fontname=\"Helvetica\", fontsize=11, shape=box, style=\"rounded,filled\", fillcolor=\"#f5f5f5\", "
                + "color=\"#888888\"];",
            "  edge [fontname=\"Helvetica\", fontsize=9, color=\"#555555\", arrowsize=0.7];",
        ]
        lines += Self.pipeline(graph)
        lines += graph.nodes.enumerated().map { number, node in Self.rule(node, number, graph.actions) }
        lines += Self.order(graph)
        lines += graph.feeds.filter { !$0.isFar }.map(Self.feed)
        lines += FeedStubs(graph).lines
        lines.append("}")
        text = lines.joined(separator: "\n")
    }

    private static func pipeline(_ graph: RulesGraph) -> [String] {
        var lines: [String] = []
        for (number, stage) in graph.stages.enumerated() {
            lines.append("  p\(number) [label=\(quoted(stage)), fillcolor=\"#e8e8e8\", group=rules];")
        }
        let names = graph.stages.indices.map { "p\($0)" } + (graph.nodes.isEmpty ? [] : ["r0"])
        lines.append("  \(names.joined(separator: " -> ")) [weight=100];")
        return lines
    }

    /// A rule with what it asks for, what it calls and what it writes in one box: lines to handlers that many rules
    /// share would cross all others.
    private static func rule(_ node: RulesGraph.Node, _ number: Int, _ actions: [String]) -> String {
        func row(_ text: String, _ color: String, background: String = "") -> String {
            "<tr><td align=\"left\" width=\"250\"\(background)><font point-size=\"9\" "
                + "color=\"\(color)\">\(markup(text))</font></td></tr>"
        }
        let border = node.isInCycle ? "#cc0000" : "#888888"
        let title = "<tr><td align=\"left\" width=\"250\"><b>\(number + 1)  \(markup(node.id))</b></td></tr>"
        let rows =
            node.conditions.map { row($0, "#444444") }
            + [row("→ \(actions[node.action])", "#1f5a94", background: " bgcolor=\"#dcebfb\"")]
            + node.writes.map { row("writes \($0)", node.isInCycle ? "#cc0000" : "#8a6d3b") }
        return
            "  r\(number) [label=<<table border=\"0\" cellborder=\"0\" cellspacing=\"1\" "
            + "cellpadding=\"1\">\(title)\(rows.joined())</table>>, "
            + "fillcolor=\"\(node.isInCycle ? "#fdeaea" : "#ffffff")\", color=\"\(border)\", group=rules];"
    }

    /// From each rule to the next one: for what it does not take, and with `continue` for what it takes too.
    private static func order(_ graph: RulesGraph) -> [String] {
        graph.nodes.indices.dropLast().map { number in
            let more =
                graph.nodes[number].continues
                ? ", color=\"#2e8b57\", penwidth=2, label=\" continue\", fontcolor=\"#2e8b57\"" : ""
            return "  r\(number) -> r\(number + 1) [weight=100\(more)];"
        }
    }

    /// From a rule that writes to one that takes the push.
    ///
    /// Each line is laid out downwards, and behind the line to the next rule, so that all of them are on the right.
    private static func feed(_ feed: RulesGraph.Feed) -> String {
        let color = feedColor(feed.isInCycle)
        let (top, bottom) = (min(feed.from, feed.to), max(feed.from, feed.to))
        let direction = feed.to < feed.from ? "dir=back, " : ""
        return "  r\(top):e -> r\(bottom):e [\(direction)weight=0, style=dashed, penwidth=\(feed.isInCycle ? 2 : 1), "
            + "color=\"\(color)\", tooltip=\(quoted(feed.target))];"
    }

    /// Red for what comes back to where it began.
    static func feedColor(_ isInCycle: Bool) -> String { isInCycle ? "#cc0000" : "#8a6d3b" }

    // MARK: Escaping

    /// A text as a string of the language, in which a backslash means something.
    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { quoted += "\\" }
            quoted.unicodeScalars.append(scalar)
        }
        return quoted + "\""
    }

    /// A text inside a label that is markup.
    static func markup(_ text: String) -> String {
        var markup = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": markup += "&amp;"
            case "<": markup += "&lt;"
            case ">": markup += "&gt;"
            case "\"": markup += "&quot;"
            default: markup.unicodeScalars.append(scalar)
            }
        }
        return markup
    }
}
