import KiiPush
import Testing

@testable import kiipush

@Suite("kiipush rules graph")
struct RulesGraphToolTests {
    private static let rules = #"""
        {"version":1,"rules":[
         {"id":"a \"<b>\" & \\ #x","when":{"bucket":"a","data":{"]|<":"`%{"}},"then":{"handler":"h"},"continue":true},
         {"id":"b","when":{"bucket":"b"},"then":{"run":["/bin/x","\u001b"]},"writes":["kiicloud://buckets/c"]},
         {"id":"c","when":{"bucket":"c"},"then":{"print":true},"writes":["kiicloud://buckets/b/objects/o"]},
         {"id":"d","when":{},"then":{"handler":"h"}}]}
        """#

    private func graph(_ format: String) async throws -> String {
        let file = try TemporaryFile(Self.rules)
        let run = await ToolRun("rules", "graph", "--format", format, file.path)
        #expect(run.code == .fine && run.errors.isEmpty && run.output.count == 1)
        return try #require(run.output.first)
    }

    @Test("the text for Graphviz has each stage, rule and feed, with all that is foreign escaped")
    func dot() async throws {
        let text = try await graph("dot")
        let statements = try DotChecker.statements(text)
        #expect(statements.contains { $0.hasPrefix("p0 -> p1 -> p2 -> p3 -> p4 -> r0 ") })
        #expect(statements.count { $0.hasPrefix("r") && $0.contains("label=<") } == 4)
        #expect(statements.contains { $0.hasPrefix("r0 -> r1 ") && $0.contains("continue") })
        #expect(statements.contains { $0.hasPrefix("r1 -> r2 ") && !$0.contains("continue") })
        let feeds = statements.filter { $0.contains("style=dashed") }
        #expect(feeds.count { $0.hasPrefix("r1:e -> r2:e ") && $0.contains(GraphInk.loopEdge.rawValue) } == 2)
        #expect(feeds.count { $0.hasPrefix("r1:e -> r2:e ") && $0.contains("dir=back") } == 1)
        #expect(text.contains("1  a &quot;&lt;b&gt;&quot; &amp; \\ #x"))
        #expect(text.contains("→ run /bin/x \\u{1B}") && !text.unicodeScalars.contains("\u{1B}"))
    }

    @Test("the text for Mermaid has each rule and edge, styles by number, and foreign texts as entities")
    func mermaid() async throws {
        let lines = try await graph("mermaid").split(separator: "\n").map { String($0) }
        #expect(lines[1] == "flowchart TD")
        let edges = lines.filter { $0.contains("-->") || $0.contains("==>") || $0.contains("-.->") }
        for style in lines.filter({ $0.contains("linkStyle") }) {
            let numbers = style.split(separator: " ")[1].split(separator: ",").compactMap { Int($0) }
            #expect(!numbers.isEmpty && numbers.allSatisfy { edges.indices.contains($0) })
            if style.contains(GraphInk.loopEdge.rawValue) { #expect(numbers.allSatisfy { edges[$0].contains("-.->") }) }
            if style.contains(GraphInk.stageEdge.rawValue) {
                #expect(numbers.allSatisfy { edges[$0].contains("==>|continue|") })
            }
        }
        #expect(edges.count { $0.contains("-.->") } == 2)
        #expect(lines.contains { $0.contains("1 a #34;#60;b#62;#34; #38; #92; #35;x") })
        // Inside quotes there is nothing that would end a label.
        for line in lines where line.contains("(\"") {
            #expect(line.count { $0 == "\"" } == 2, "\(line)")
        }
    }

    @Test("a feed over more than 8 rules has a label at both ends, one over 8 a line")
    func farFeeds() async throws {
        let rules = (0..<50).map { number in
            let writes = [9: 1, 10: 1, 48: 3, 3: 48][number].map { #","writes":["kiicloud://buckets/b\#($0)"]"# } ?? ""
            return #"{"id":"<r\#(number)>","when":{"bucket":"b\#(number)"},"then":{"print":true}\#(writes)}"#
        }
        let file = try TemporaryFile(#"{"version":1,"rules":[\#(rules.joined(separator: ","))]}"#)
        let run = await ToolRun("rules", "graph", file.path)
        let text = try #require(run.output.first)
        let statements = try DotChecker.statements(text)
        let dashed = statements.filter { $0.contains("style=dashed") }
        #expect(
            dashed.map { String($0.prefix { $0 != "[" }.drop { $0.isWhitespace || $0 == "}" }) } == [
                "r1:e -> r9:e ", "r1 -> f1 ", "r3 -> f3 ", "r10 -> f10 ", "r48 -> f48 ",
            ])
        #expect(dashed.map { $0.contains("dir=both") } == [false, false, true, false, true])
        #expect(dashed.map { $0.contains(GraphInk.loopEdge.rawValue) } == [false, false, true, false, true])
        for label in [
            "feeds 49  &lt;r48&gt;", "fed by 49  &lt;r48&gt;", "feeds 4  &lt;r3&gt;", "fed by 4  &lt;r3&gt;",
            "feeds 2  &lt;r1&gt;", "fed by 11  &lt;r10&gt;",
        ] { #expect(text.contains(label), "\(label)") }
        #expect(!text.contains("fed by 10  "))
    }

    @Test("a picture that Graphviz drew has a dark color for each of its colors, and keeps the rest")
    func dark() {
        let drawn = GraphInk.allCases.map { "<polygon fill=\"\($0.rawValue)\" stroke=\"none\"/>" }.joined()
        let head = "<?xml version=\"1.0\"?>\n<!-- > -->\n<svg width=\"8pt\"\n height=\"8pt\">"
        let svg = GraphInk.adaptive("\(head)\(drawn)</svg>")
        #expect(svg.hasPrefix("\(head)\n<style>@media (prefers-color-scheme: dark){"))
        #expect(svg.hasSuffix("}</style>\(drawn)</svg>"))
        for ink in GraphInk.allCases {
            #expect(svg.contains("[fill=\"\(ink.rawValue)\"]{fill:#") && svg.contains("[stroke=\"\(ink.rawValue)\"]"))
        }
        #expect(GraphInk.adaptive("no picture") == "no picture")
    }

    @Test("every color of the text for Graphviz is one that the style sheet knows")
    func inks() async throws {
        let known = Set(GraphInk.allCases.map(\.rawValue))
        let text = try await graph("dot")
        let colors = text.matches(of: /#[0-9a-f]{6}/).map { String($0.output) }
        #expect(!colors.isEmpty && colors.allSatisfy(known.contains))
    }

    @Test("both languages draw a file without rules")
    func empty() async throws {
        let file = try TemporaryFile(#"{"version":1,"rules":[]}"#)
        for format in ["dot", "mermaid"] {
            #expect(await ToolRun("rules", "graph", "--format", format, file.path).code == .fine)
        }
    }
}

/// Reads the language of Graphviz far enough to tell its statements apart: strings, markup and brackets must close.
enum DotChecker {
    struct Malformed: Error {
        let what: String
    }

    static func statements(_ text: String) throws -> [String] {
        var statements: [String] = []
        var statement = ""
        var (isInString, isEscaped, markup, braces) = (false, false, 0, 0)
        for character in text {
            if isInString {
                isInString = isEscaped || character != "\""
                isEscaped = !isEscaped && character == "\\"
            } else if character == "<" {
                markup += 1
            } else if character == ">", markup > 0 {
                markup -= 1
            } else if markup == 0 {
                switch character {
                case "\"": isInString = true
                case "{": braces += 1
                case "}": braces -= 1
                case ";":
                    statements.append(String(statement.drop { $0.isWhitespace || $0 == ">" }))
                    statement = ""
                    continue
                default: break
                }
            }
            statement.append(character)
        }
        guard !isInString, markup == 0, braces == 0 else { throw Malformed(what: "not closed: \(statement)") }
        return statements
    }
}
