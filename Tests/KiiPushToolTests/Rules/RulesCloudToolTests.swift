import KiiPush
import Testing

@testable import KiiPushAgent
@testable import kiipush

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
        let file = try TemporaryFile(Self.rules, name: "r.json")
        let run = await ToolRun("rules", "graph", file.path)
        let text = run.output.joined(separator: "\n")
        #expect(text.contains("send kiicloud://things/th.1/topics/a"))
        #expect(text.contains("writes kiicloud://buckets/b/objects/$#123;topic#125;"))
    }
}
