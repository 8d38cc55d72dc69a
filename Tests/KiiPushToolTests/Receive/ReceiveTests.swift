import Glibc
import Testing

@testable import kiipush

@Suite("kiipush receive on standard input")
struct ReceiveTests {
    static let rules = """
        {"version":1,"rules":[
          {"id":"settings","when":{"kind":"pushToApp","bucket":"settings"},"then":{"print":true},"pace":"8s"},
          {"id":"broken","when":{"kind":"pushToUser"},"then":{"run":["/bin/false"]},
           "delivery":{"attempts":2,"backoff":"1ms"}}]}
        """
    static let lines = """
        {"bucketID":"settings","objectScopeType":"APP","objectID":"o","when":1}
        {"bucketID":"settings","objectScopeType":"APP","objectID":"o","when":1}
        nonsense

        {"topic":"news","objectScopeType":"APP","when":2}
        {"bucketID":"other","objectScopeType":"APP","objectID":"o","when":3}
        """

    @Test("each line ends as the rules say, in one line of the log, and the agent ends with its input")
    func lines() throws {
        let rules = try TemporaryFile(Self.rules, name: "rules.json")
        let input = try TemporaryFile(Self.lines, name: "lines")
        let run = try ChildRun(["receive", "--rules", rules.path, "--stdin"], input: input.path)
        #expect(run.code == 1 && run.errors.contains("lost: 1 dead letter, kept"), "\(run.errors)")
        #expect(run.output.split(separator: "\n").count == 1)
        let ends = ["handled", "duplicate (done)", "undecodable", "deadLettered (failed)", "unrouted (noRoute)"]
        for end in ends { #expect(run.errors.contains(end), "\(end) in \(run.errors)") }
        #expect(!run.errors.contains("news") || !run.errors.contains("nonsense"))
    }

    @Test("what waits for its pace when the input ends is handled before the agent ends, of an object the newest")
    func pacedAtTheEnd() throws {
        let rules = try TemporaryFile(Self.rules, name: "rules.json")
        let lines = (1...22).map { #"{"bucketID":"settings","objectScopeType":"APP","objectID":"o","when":\#($0)}"# }
        let input = try TemporaryFile(lines.joined(separator: "\n"), name: "lines")
        let run = try ChildRun(["receive", "--rules", rules.path, "--stdin", "--quiet"], input: input.path)
        #expect(run.code == 0 && run.errors.contains("they wait some seconds"), "\(run.errors)")
        #expect(run.output.split(separator: "\n").count == 21)
    }

    @Test(
        "rules that are wrong, fail their own tests or cannot be read keep the agent from starting",
        arguments: [
            (#"{"version":1,"rules":[{"id":"a","then":{"prnit":true}}]}"#, "rules.json:1:"),
            (
                #"{"version":1,"rules":[{"id":"a","then":{"print":true}}],"tests":[{"name":"t","steps":[{"payload":{},"expect":{"rules":["b"]}}]}]}"#,
                "rules.json:1:"
            ),
            (#"{"version":1,"rules":[{"id":"a","then":{"handler":"x"}}]}"#, "handler 'x'"),
        ])
    func wrongRules(text: String, what: String) throws {
        let rules = try TemporaryFile(text, name: "rules.json")
        let run = try ChildRun(["receive", "--rules", rules.path, "--stdin"])
        #expect(run.code == 1)
        #expect(run.output.isEmpty)
        #expect(run.errors.contains(what), "\(run.errors)")
        #expect(!run.errors.contains("ready"))
        // Nor does it leave a state directory behind.
        let state = rules.path + ".state"
        let kept = try ChildRun(["receive", "--rules", rules.path, "--stdin", "--state", state])
        #expect(kept.code == 1 && kept.errors.contains(what))
        #expect(unsafe access(state, F_OK) != 0)
    }
}
