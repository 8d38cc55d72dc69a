/// The ends of feeds that are too long for a line: a label beside each rule that names the other end.
struct FeedStubs {
    /// The most rules that one label names, in each direction.
    private static let mostNames = 12

    private struct Stub {
        var feeds: [RulesGraph.Feed] = []
        var fedBy: [RulesGraph.Feed] = []
    }

    /// The DOT lines.
    let lines: [String]

    init(_ graph: RulesGraph) {
        var stubs: [Int: Stub] = [:]
        for feed in graph.feeds where feed.isFar {
            stubs[feed.from, default: Stub()].feeds.append(feed)
            stubs[feed.to, default: Stub()].fedBy.append(feed)
        }
        lines = stubs.sorted { $0.key < $1.key }.flatMap { number, stub in Self.lines(graph, number, stub) }
    }

    /// The label, and a short line that keeps it beside its rule; one label for both directions, since a second one
    /// would need a line around the first.
    private static func lines(_ graph: RulesGraph, _ number: Int, _ stub: Stub) -> [String] {
        let rows = rows(graph, "feeds", stub.feeds, \.to) + rows(graph, "fed by", stub.fedBy, \.from)
        let isInCycle = (stub.feeds + stub.fedBy).contains(where: \.isInCycle)
        let direction = stub.fedBy.isEmpty ? "forward" : stub.feeds.isEmpty ? "back" : "both"
        return [
            "  f\(number) [shape=plaintext, style=\"\", fontsize=9, "
                + "label=<<table border=\"0\" cellborder=\"0\" cellspacing=\"0\" "
                + "cellpadding=\"1\">\(rows.joined())</table>>];",
            "  { rank=same; r\(number); f\(number); }",
            // Without ports: Graphviz omits the arrow head at the start of such an edge if it has a port.
            "  r\(number) -> f\(number) [dir=\(direction), weight=0, style=dashed, "
                + "penwidth=\(isInCycle ? 2 : 1), color=\"\(GraphInk.feed(isInCycle: isInCycle).rawValue)\"];",
        ]
    }

    private static func rows(
        _ graph: RulesGraph, _ verb: String, _ feeds: [RulesGraph.Feed], _ other: KeyPath<RulesGraph.Feed, Int>
    ) -> [String] {
        // One rule may write several things that the other one matches.
        let inCycle = Set(feeds.filter(\.isInCycle).map { $0[keyPath: other] })
        let others = Set(feeds.map { $0[keyPath: other] }).sorted()
        func row(_ text: String, _ isInCycle: Bool) -> String {
            "<tr><td align=\"left\"><font "
                + "color=\"\(GraphInk.feed(isInCycle: isInCycle).rawValue)\">\(DotText.markup(text))</font></td></tr>"
        }
        let rows = others.prefix(mostNames).map {
            row("\(verb) \($0 + 1)  \(graph.nodes[$0].id)", inCycle.contains($0))
        }
        let left = others.count - rows.count
        return left > 0 ? rows + [row("\(verb) \(left) more", false)] : rows
    }
}
