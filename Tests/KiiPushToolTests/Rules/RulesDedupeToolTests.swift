import KiiPush
import KiiPushTesting
import Testing

@testable import KiiPushAgent
@testable import kiipush

@Suite("kiipush rules with an id of the application")
struct RulesDedupeToolTests {
    private static func rules(_ dedupe: String) -> String {
        """
        {"version": 1, "rules": [
         {"id": "log", "when": {"topic": "x"}, "then": {"print": true}, "continue": true\(dedupe)},
         {"id": "orders", "when": {"topic": "orders"}, "then": {"handler": "h"}\(dedupe)}]}
        """
    }

    private static let by = #", "dedupe": {"by": "data.id"}"#

    private static func payload(_ data: String, sentAt: Int = 1) -> String {
        #"{"topic":"orders","objectScopeType":"APP","sender":"U1","when":\#(sentAt)\#(data)}"#
    }

    @Test("explain says by what the message is named, at the rule that names it")
    func explain() async throws {
        let file = try TemporaryFile(Self.rules(Self.by), name: "r.json")
        func lines(_ data: String, _ options: String...) async -> [String] {
            await ToolRun(["rules", "explain", file.path, "--text", Self.payload(data)] + options).output
        }
        #expect(await lines(#","id":17"#).contains(#"       id    data.id names the message: "17""#))
        #expect(await lines("").contains("       id    data.id is no id here: automatic keys"))
        #expect(await lines("").filter { $0.contains("data.id") }.count == 1)
        let json = await lines(#","id":17"#, "--format", "json").joined()
        #expect(json.contains(#""dedupe":{"by":"data.id","id":"17"}"#))
        #expect(await lines("", "--format", "json").joined().contains(#""dedupe":{"by":"data.id","id":null}"#))
    }

    @Test("diff shows the messages that an id makes one")
    func diff() async throws {
        let (old, new) = (
            try TemporaryFile(Self.rules(""), name: "old.json"),
            try TemporaryFile(Self.rules(Self.by), name: "new.json")
        )
        let steps = (1...3).map { #"{"at":"\#($0)s","payload":\#(Self.payload(#","id":"1""#, sentAt: $0))}"# }
        let corpus = try TemporaryFile(steps.joined(separator: "\n"), name: "corpus.jsonl")
        let run = await ToolRun(["rules", "diff", old.path, new.path, "--corpus", corpus.path])
        #expect(run.code == .failed)
        #expect(run.output.contains("      2  was  handled by orders, calling h"))
        #expect(run.output.contains { $0.contains("now  duplicate (done)") })
    }
}
