import Foundation
import Testing

@testable import KiiPushAgent
@testable import kiipush

/// Values of parameters on the command line, and in a running agent.
@Suite("rules with parameters, in the tool and in an agent", .timeLimit(.minutes(5)))
struct ParameterToolTests {
    private static let secret = "s3cret-value"

    private static func file(_ output: String, more: String = "", expecting outcome: String = "handled") -> String {
        #"""
        {"version":1,
         "params":{"thing":{"type":"string"},"limit":{"type":"number","default":30},"token":{"type":"string","secret":true}\#(more)},
         "me":["thing:${param.thing}"],
         "rules":[
          {"id":"hot","when":{"topic":"heat","data":{"/room/temp":{"greater":"${param.limit}"}}},
           "then":{"run":["/bin/sh","-c","echo \"$1\" >> '\#(output)'; test \"$2\" = ${param.thing}","sh","${param.token}","th.1"]},
           "delivery":{"attempts":1}}],
         "tests":[{"name":"hot","params":[{"thing":"th.1"}],"steps":[
          {"payload":{"topic":"heat","objectScopeType":"APP","room":{"temp":31}},"expect":{"outcome":"\#(outcome)"}}]}]}
        """#
    }

    private let message = #"{"topic":"heat","objectScopeType":"APP","when":1,"room":{"temp":21}}"#

    @Test("two agents run one rules file with their own values; a secret is in no output; a reload keeps the values")
    func agents() async throws {
        for (thing, limit, outcome) in [("th.1", "20", "handled"), ("th.2", "20.5", "deadLettered")] {
            let rules = try TemporaryFile("", name: "rules.json")
            let state = rules.path + ".state"
            let seen = rules.path + ".seen"
            let text = Self.file(seen)
            try Data(text.utf8).write(to: URL(filePath: rules.path))
            let values = try TemporaryFile(
                #"{"thing":"\#(thing)","limit":1,"token":"\#(Self.secret)"}"#, name: "params.json")
            let run = try WatchedRun(
                rules.path, state, ["--params", values.path, "--param", "limit=\(limit)", "--param", "lmit=1"])
            try run.send(message)
            try run.agent.wait { $0.log.contains(outcome) }
            #expect(try String(contentsOfFile: seen, encoding: .utf8) == Self.secret + "\n")

            let status = await ToolRun("status", "--format", "json", "--state", state)
            let inUse = try #require(AgentStatus(json: status.output.first ?? "")?.rules)
            #expect(inUse.params.map(\.name) == ["thing", "limit", "token"])
            #expect(
                inUse.params.map(\.value) == [thing, limit, nil]
                    && inUse.params.map(\.isSecret) == [false, false, true])
            #expect(inUse.digest.utf8.count == 64)

            // One that lacks a value is refused with its place, and the next one is loaded.
            let lacking = Self.file(seen, more: #","floor":{"type":"number"}"#)
            try Data(lacking.utf8).write(to: URL(filePath: rules.path))
            try run.agent.wait { $0.log.contains("the parameter 'floor' has no value") }
            #expect(run.agent.log.contains("\(rules.path):2:"))
            let longer = Self.file(seen, more: #","floor":{"type":"number","default":2}"#)
            try Data(longer.utf8).write(to: URL(filePath: rules.path))
            try run.agent.wait { $0.log.contains("generation 2") || $0.log.contains("1 rule, generation") }
            let later = await ToolRun("status", "--format", "json", "--state", state)
            let now = try #require(AgentStatus(json: later.output.first ?? "")?.rules)
            #expect(now.digest != inUse.digest && now.params.map(\.value) == [thing, limit, nil, "2"])
            #expect(run.agent.log.contains("--param lmit:1:1:"), "\(run.agent.log)")

            let letters = await ToolRun("dead-letters", "list", "--state", state)
            let words = await ToolRun("status", "--state", state)
            #expect(words.output.contains { $0.contains("token = (secret)") })
            #expect(try run.agent.stop() == 0)
            for shown in [run.agent.log, run.agent.output] + status.output + words.output + letters.output
                + letters.errors
            {
                #expect(!shown.contains(Self.secret))
            }
        }
    }

    @Test("an agent does not start without a value, or with a secret that others can read, and creates no state")
    func missing() async throws {
        let rules = try TemporaryFile(Self.file("/dev/null"), name: "rules.json")
        let state = rules.path + ".state"
        let open = try TemporaryFile(
            #"{"thing":"th.1","token":"\#(Self.secret)"}"#, name: "params.json", mode: 0o640)
        for (options, problem) in [
            (["--params", open.path], "\(open.path): contains a secret that others can read (mode 0640)"),
            ([], "\(rules.path):2:12: the parameter 'thing' has no value"),
            (["--param", "thing=th.1"], "\(rules.path):2:77: the secret parameter 'token' has no value"),
            (["--param", "thing=th.1", "--param", "limit=x"], "--param limit:1:1: expected a number"),
            (["--params", "/nowhere/p.json"], "/nowhere/p.json: cannot be read"),
        ] {
            let run = try ChildRun(["receive", "--rules", rules.path, "--stdin", "--state", state] + options)
            #expect(run.code == 1 && run.errors.contains(problem), "\(run.errors)")
            #expect(!FileManager.default.fileExists(atPath: state))
        }
    }

    @Test("every command that reads rules takes values, and shows no secret")
    func commands() async throws {
        let rules = try TemporaryFile(Self.file("/dev/null"), name: "rules.json")
        let failing = try TemporaryFile(Self.file("/dev/null", expecting: "failed"), name: "rules.json")
        let corpus = try TemporaryFile(#"{"payload":\#(message)}"#, name: "corpus.jsonl")
        let values = ["--param", "thing=th.1", "--param", "limit=20", "--param", "token=\(Self.secret)"]
        for (command, code) in [
            (["rules", "lint", rules.path], ExitCode.fine), (["rules", "test", "--coverage", rules.path], .fine),
            (["rules", "test", "--format", "json", failing.path], .failed), (["rules", "test", failing.path], .failed),
            (["rules", "explain", rules.path, "--text", message], .fine),
            (["rules", "explain", rules.path, "--format", "json", "--text", message], .fine),
            (["rules", "diff", rules.path, rules.path, "--corpus", corpus.path], .fine),
            (["rules", "graph", rules.path], .fine),
            (["report", corpus.path, "-o", corpus.path + ".html", "--rules", rules.path], .fine),
        ] {
            let run = await ToolRun(command + values)
            #expect(run.code == code, "\(command): \(run.errors) \(run.output)")
            #expect(!(run.output + run.errors).contains { $0.contains(Self.secret) }, "\(command)")
            let without = await ToolRun(command)
            #expect(
                without.code != .fine && without.errors.contains { $0.contains("'thing' has no value") }, "\(command)")
        }
        #expect(try !String(contentsOfFile: corpus.path + ".html", encoding: .utf8).contains(Self.secret))
    }
}
