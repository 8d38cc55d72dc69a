import Testing

@testable import KiiPushSystem
@testable import kiipush

@Suite("an agent that is the first process of a container", .timeLimit(.minutes(5)))
struct FirstProcessTests {
    private static let container = ["--pid", "--fork", "--kill-child", "--mount-proc"]

    /// Whether this process may make process ids of a container.
    static let mayUnshare =
        (try? ChildProcess.run("unshare", container + ["true"], limit: .seconds(10))) == .exited(0)

    private func run(_ script: String) throws -> ChildProcess.End {
        try ChildProcess.run("/bin/sh", ["-c", script], limit: .seconds(40))
    }

    private func start(_ rules: TemporaryFile, _ options: String) throws -> String {
        let words = ["unshare"] + Self.container + [try ChildRun.tool(), "receive", "--rules", rules.path, options]
        return words.joined(separator: " ")
    }

    @Test("it reaps what its programs leave behind, and ends with its own status", .enabled(if: mayUnshare))
    func reaps() throws {
        let script =
            "(true &); sleep 0.3; for i in $(seq 100); do grep -qs ') Z ' /proc/[0-9]*/stat || break; sleep 0.1; done; "
            + "grep -c ') Z ' /proc/[0-9]*/stat | grep -c ':[^0]'; exit 0"
        let rules = try TemporaryFile(
            #"{"version":1,"rules":[{"id":"all","then":{"run":["/bin/sh","-c","\#(script)"]}}]}"#, name: "rules.json")
        let input = try TemporaryFile(#"{"bucketID":"b","objectScopeType":"APP","objectID":"o","when":1}"#)
        let log = try TemporaryFile("", name: "log")
        let command = try start(rules, "--stdin")
        #expect(try run("\(command) <\(input.path) 2>\(log.path)") == .exited(0))
        #expect(try log.contents().contains("message 1: sh: 0\n"), "\((try? log.contents()) ?? "")")
        #expect(try log.contents().contains("message 1: handled"))
    }

    @Test("SIGTERM ends it in order, as it does elsewhere", .enabled(if: mayUnshare))
    func stops() throws {
        let rules = try TemporaryFile(ReceiveTests.rules, name: "rules.json")
        let log = try TemporaryFile("", name: "log")
        let script = """
            \(try start(rules, "--unix \(rules.path).sock")) 2>\(log.path) & unshare=$!
            until grep -q ready \(log.path); do sleep 0.05; done
            kill -TERM $(cat /proc/$unshare/task/$unshare/children); wait $unshare
            """
        #expect(try run(script) == .exited(0), "\((try? log.contents()) ?? "")")
        #expect(try log.contents().contains("stopping"))
    }
}
