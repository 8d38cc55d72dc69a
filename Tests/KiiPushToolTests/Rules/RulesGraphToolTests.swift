import KiiPush
import Testing

@testable import KiiPushAgent
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

    private func graph() async throws -> String {
        let file = try TemporaryFile(Self.rules)
        let run = await ToolRun("rules", "graph", file.path)
        #expect(run.code == .fine && run.errors.isEmpty && run.output.count == 1)
        return try #require(run.output.first)
    }

    @Test("the text for Mermaid has each rule and edge, styles by number, and foreign texts as entities")
    func mermaid() async throws {
        let lines = try await graph().split(separator: "\n").map { String($0) }
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

    @Test("a file without rules is drawn")
    func empty() async throws {
        let file = try TemporaryFile(#"{"version":1,"rules":[]}"#)
        #expect(await ToolRun("rules", "graph", file.path).code == .fine)
    }
}
