/// A picture of rules in Graphviz's language, DOT.
struct DotText {
    let text: String

    init(_ graph: RulesGraph) {
        var lines = [
            "digraph rules {",
            "  graph [rankdir=TB, ordering=out, ranksep=0.28, nodesep=0.5, pad=0.15, \(Self.font(14)), "
                + "bgcolor=\"\(GraphInk.ground.rawValue)\", labelloc=t, labeljust=l, label=\(Self.quoted(graph.file))];",
            "  node [\(Self.font(11)), shape=box, style=\"rounded,filled\", "
                + "fillcolor=\"\(GraphInk.box.rawValue)\", color=\"\(GraphInk.boxEdge.rawValue)\"];",
            "  edge [\(Self.font(9)), color=\"\(GraphInk.quiet.rawValue)\", arrowsize=0.7];",
        ]
        lines += Self.pipeline(graph)
        lines += graph.nodes.indices.map { Self.rule(graph, $0) }
        lines += Self.order(graph)
        lines += graph.feeds.filter { !$0.isFar }.map(Self.feed)
        lines += FeedStubs(graph).lines
        lines.append("}")
        text = lines.joined(separator: "\n")
    }

    /// The font of the guides' pictures; Graphviz measures with the first one that it finds.
    private static func font(_ size: Int) -> String {
        "fontname=\"system-ui,DejaVu Sans,sans-serif\", fontsize=\(size), fontcolor=\"\(GraphInk.text.rawValue)\""
    }

    private static func pipeline(_ graph: RulesGraph) -> [String] {
        var lines: [String] = []
        for (number, stage) in graph.stages.enumerated() {
            let inks =
                graph.middleware.contains(number)
                ? ", fillcolor=\"\(GraphInk.stage.rawValue)\", color=\"\(GraphInk.stageEdge.rawValue)\"" : ""
            lines.append("  p\(number) [label=\(quoted(stage))\(inks), group=rules];")
        }
        let names = graph.stages.indices.map { "p\($0)" } + (graph.nodes.isEmpty ? [] : ["r0"])
        lines.append("  \(names.joined(separator: " -> ")) [weight=100];")
        return lines
    }

    /// A rule with its conditions, its action and its writes in one box: lines to handlers that many rules share would
    /// cross all others.
    private static func rule(_ graph: RulesGraph, _ number: Int) -> String {
        let node = graph.nodes[number]
        func row(_ text: String, _ ink: GraphInk, on ground: GraphInk? = nil) -> String {
            let background = ground.map { " bgcolor=\"\($0.rawValue)\"" } ?? ""
            return "<tr><td align=\"left\" width=\"250\"\(background)><font point-size=\"9\" "
                + "color=\"\(ink.rawValue)\">\(markup(text))</font></td></tr>"
        }
        let title = "<tr><td align=\"left\" width=\"250\"><b>\(number + 1)  \(markup(node.id))</b></td></tr>"
        let rows =
            node.conditions.map { row($0, .quiet) }
            + [row("→ \(graph.actions[node.action])", .handlerEdge, on: .handler)]
            + node.writes.map { row("writes \($0)", GraphInk.feed(isInCycle: node.isInCycle)) }
            + (node.isInCycle ? [row("part of a loop", .loopEdge)] : [])
        let (fill, edge): (GraphInk, GraphInk) = node.isInCycle ? (.loop, .loopEdge) : (.ground, .boxEdge)
        return
            "  r\(number) [label=<<table border=\"0\" cellborder=\"0\" cellspacing=\"1\" "
            + "cellpadding=\"1\">\(title)\(rows.joined())</table>>, "
            + "fillcolor=\"\(fill.rawValue)\", color=\"\(edge.rawValue)\", group=rules];"
    }

    /// The line from each rule to the next: for messages that it does not match, and with `continue` also for those
    /// that it does.
    private static func order(_ graph: RulesGraph) -> [String] {
        let ink = GraphInk.stageEdge.rawValue
        return graph.nodes.indices.dropLast().map { number in
            let more =
                graph.nodes[number].continues
                ? ", color=\"\(ink)\", penwidth=2, label=\" continue\", fontcolor=\"\(ink)\"" : ""
            return "  r\(number) -> r\(number + 1) [weight=100\(more)];"
        }
    }

    /// The line from a rule that writes to one that matches the push.
    ///
    /// Each is laid out downwards, and after the line to the next rule, so that all are on the right.
    private static func feed(_ feed: RulesGraph.Feed) -> String {
        let color = GraphInk.feed(isInCycle: feed.isInCycle).rawValue
        let (top, bottom) = (min(feed.from, feed.to), max(feed.from, feed.to))
        let direction = feed.to < feed.from ? "dir=back, " : ""
        return "  r\(top):e -> r\(bottom):e [\(direction)weight=0, style=dashed, penwidth=\(feed.isInCycle ? 2 : 1), "
            + "color=\"\(color)\", tooltip=\(quoted(feed.target))];"
    }

    // MARK: Escaping

    /// A text as a DOT string, with backslashes escaped.
    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { quoted += "\\" }
            quoted.unicodeScalars.append(scalar)
        }
        return quoted + "\""
    }

    /// A text inside a markup label.
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
