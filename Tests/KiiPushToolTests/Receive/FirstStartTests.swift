import Glibc
import Testing

@testable import kiipush
@testable import KiiPushAgent
@testable import KiiPushSystem
@testable import KiiPushTestSupport

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
        let words = ["unshare"] + Self.container + [try toolPath(), "receive", "--rules", rules.path, options]
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

@Suite("a first start that fails")
struct FirstStartTests {
    @Test(
        "leaves no state directory behind, nor those above it that it made",
        arguments: [
            ["--unix", "/nowhere/at/all.sock"],
            ["--mqtt", "mqtt://u@127.0.0.1:1/t", "--password-file", "/nowhere/at/all"],
            ["--mqtt", "mqtts://127.0.0.1:1/t", "--ca-file", "/nowhere/at/all"], ["--stdin", "--drain", "x"],
        ])
    func leavesNothing(options: [String]) throws {
        let rules = try TemporaryFile(ReceiveTests.rules, name: "rules.json")
        let input = try TemporaryFile("", name: "input")
        let above = rules.path + ".d"
        let state = above + "/deep/state/"
        let run = try ChildRun(["receive", "--rules", rules.path, "--state", state] + options, input: input.path)
        #expect(run.code == 1 || run.code == 64, "\(run.errors)")
        #expect(run.errors.contains("nowhere") || run.errors.contains("MQTT") || run.code == 64, "\(run.errors)")
        #expect(unsafe access(above, F_OK) != 0, "\(run.errors)")
    }

    @Test("an agent that may open too few files leaves no directory, and no lock on one")
    func fewFiles() async {
        await #expect(processExitsWith: .success) {
            let folder = try Folder()
            try folder.makeFolder("old")
            var limit = rlimit(rlim_cur: 28, rlim_max: 28)
            #expect(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            for name in ["old", "new"] {
                let agent = try PushAgent(state: .directory(folder[name]))
                #expect(try await agent.exitCode(.stdin) == 1)
                if name == "old" { _ = try PushAgent(state: .directory(folder[name])) }
            }
            #expect(folder.names == ["old"])
        }
    }

    @Test("leaves what was there before, and what somebody else has put there")
    func leavesOthers() throws {
        let folder = try TemporaryFile(ReceiveTests.rules, name: "rules.json")
        let state = folder.path + ".state"
        let start = try #require(FirstStart(state + "/inner"))
        try StateDirectory.make(state + "/inner")
        #expect(FirstStart(state) == nil)
        try replaceFile(state + "/inner/agent.lock", with: "")
        try replaceFile(state + "/inner/kill.json", with: "{}")
        start.undo()
        for name in ["agent.lock", "kill.json"] { #expect(unsafe access("\(state)/inner/\(name)", F_OK) == 0) }
        _ = unsafe unlink("\(state)/inner/kill.json")
        start.undo()
        #expect(unsafe access(state, F_OK) != 0)
    }

    @Test("rules that are missing, or no regular file, are refused at once", arguments: ["none", "pipe", "folder"])
    func noRegularFile(kind: String) throws {
        let folder = try Folder()
        if kind == "pipe" { #expect(unsafe mkfifo(folder["pipe"], 0o600) == 0) }
        if kind == "folder" { try folder.makeFolder(kind) }
        let run = try ChildRun(["receive", "--rules", folder[kind], "--stdin", "--state", folder["state"]])
        #expect(run.code == 1)
        let why = kind == "none" ? "No such file or directory" : "not a regular file"
        #expect(run.errors.contains("\(folder[kind]): cannot be read: \(why)"), "\(run.errors)")
        #expect(!folder.names.contains("state"))
    }
}
