import KiiPush
import Testing

@testable import kiipush
@testable import KiiPushAgent

@Suite("kiipush rules graph")
struct RulesGraphToolTests {
    private static let rules = #"""
        {"version":1,"rules":[
         {"id":"a \"<b>\" & \\ #x","when":{"bucket":"a","data":{"]|<":"`%{"}},"then":{"handler":"h"},"continue":true},
         {"id":"b","when":{"bucket":"b"},"then":{"run":["/bin/x","\u001b"]},"writes":["kiicloud://buckets/c"]},
         {"id":"g","on":"gap","then":{"handler":"h"}},
         {"id":"c","when":{"bucket":"c"},"then":{"print":true},"writes":["kiicloud://buckets/b/objects/o"]},
         {"id":"d","when":{},"then":{"handler":"h"}}]}
        """#

    private func graph() async throws -> String {
        let run = try await ToolRun("rules", "graph", file: Self.rules)
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
        // A message passes no rule for gaps.
        #expect(edges.contains("  p4 -->|gap| r2") && edges.contains("  r1 --> r3"))
        #expect(!edges.contains { $0.contains("r2 --> r") } && lines.contains { $0.contains("any gap") })
        #expect(lines.contains { $0.contains("1 a #34;#60;b#62;#34; #38; #92; #35;x") })
        // Inside quotes there is nothing that would end a label.
        for line in lines where line.contains("(\"") {
            #expect(line.count { $0 == "\"" } == 2, "\(line)")
        }
    }
}

@Suite("commands about rules that call Kii's cloud")
struct RulesCloudToolTests {
    private static let rules = #"""
        {"version": 1, "me": ["thing:th.1"], "rules": [
         {"id": "w", "when": {"topic": "t"}, "continue": true,
          "then": {"write": {"object": "kiicloud://buckets/b/objects/${topic}", "fields": {"n": "${data.n}"}}}},
         {"id": "s", "then": {"send": {"topic": "kiicloud://things/th.1/topics/a", "data": {"text": "hi"}}}}],
         "tests": [{"name": "one", "steps": [
          {"payload": {"topic": "t", "objectScopeType": "APP", "n": 1}, "expect": {"outcome": "handled"}}]}]}
        """#
    private static let payload = #"{"topic":"t","objectScopeType":"APP","n":1}"#
    private static let actions = [
        #"{"write":{"object":"kiicloud://buckets/b/objects/t","fields":{"n":1}}}"#,
        #"{"send":{"topic":"kiicloud://things/th.1/topics/a","data":{"text":"hi"}}}"#,
    ]

    @Test("explain shows what would be done, with the values filled in, and does nothing")
    func explain() async throws {
        let file = try TemporaryFile(Self.rules, name: "r.json")
        let text = await ToolRun("rules", "explain", file.path, "--text", Self.payload)
        #expect(text.code == .fine && text.errors.isEmpty)
        let taken = "TAKES IT: the object kiicloud://buckets/b/objects/${topic} is written"
        #expect(text.output.contains { $0.contains(taken) })
        for action in Self.actions { #expect(text.output.contains("would do, but not here: \(action)")) }
        let json = await ToolRun("rules", "explain", file.path, "--format", "json", "--text", Self.payload)
        #expect(json.output.first?.contains(#""cloud":[\#(Self.actions.joined(separator: ","))]"#) == true)
    }

    @Test("test shows what would be done where that is asked for")
    func test() async throws {
        let file = try TemporaryFile(Self.rules, name: "r.json")
        let quiet = await ToolRun("rules", "test", file.path)
        #expect(quiet.code == .fine && quiet.output == ["\(file.path): 1 test passed"])
        let told = await ToolRun("rules", "test", "--cloud", file.path)
        #expect(told.output.dropLast() == Self.actions.map { "\(file.path): 'one', step 1 would do \($0)" }[...])
        let json = await ToolRun("rules", "test", "--format", "json", file.path)
        #expect(json.output.first?.contains(#""cloud":[{"step":1,"action":\#(Self.actions[0])},"#) == true)
    }

    @Test("the picture has what is written and sent")
    func graph() async throws {
        let run = try await ToolRun("rules", "graph", file: Self.rules)
        let text = run.output.joined(separator: "\n")
        #expect(text.contains("send kiicloud://things/th.1/topics/a"))
        #expect(text.contains("writes kiicloud://buckets/b/objects/$#123;topic#125;"))
    }
}

@Suite("kiipush rules with an id of the application")
struct RulesDedupeToolTests {
    private static let rules = """
        {"version": 1, "rules": [
         {"id": "log", "when": {"topic": "x"}, "then": {"print": true}, "continue": true, "dedupe": {"by": "data.id"}},
         {"id": "orders", "when": {"topic": "orders"}, "then": {"handler": "h"}, "dedupe": {"by": "data.id"}}]}
        """

    @Test("explain says by what the message is named, at the rule that names it")
    func explain() async throws {
        let file = try TemporaryFile(Self.rules, name: "r.json")
        func lines(_ data: String, _ options: String...) async -> [String] {
            let payload = #"{"topic":"orders","objectScopeType":"APP","sender":"U1","when":1\#(data)}"#
            return await ToolRun(["rules", "explain", file.path, "--text", payload] + options).output
        }
        #expect(await lines(#","id":17"#).contains(#"       id    data.id names the message: "17""#))
        #expect(await lines("").contains("       id    data.id is no id here: automatic keys"))
        #expect(await lines("").filter { $0.contains("data.id") }.count == 1)
        let json = await lines(#","id":17"#, "--format", "json").joined()
        #expect(json.contains(#""dedupe":{"by":"data.id","id":"17"}"#))
        #expect(await lines("", "--format", "json").joined().contains(#""dedupe":{"by":"data.id","id":null}"#))
    }
}
