import Foundation
import Glibc
import Synchronization
import Testing

@testable import kiipush
@testable import KiiPushAgent
@testable import KiiPushSystem
@testable import KiiPushTestSupport

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
                #"{"version":1,"rules":[{"id":"a","then":{"print":true}}],"tests":[{"name":"t","steps":[{"payload":{},"expect":{"rules":[]}}]}]}"#,
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

@Suite("an agent and the signals of an operator", .timeLimit(.minutes(5)))
struct SignalTests {
    @Test("SIGHUP does not end an agent, which looks at its rules then; its last line counts what has ended")
    func hangUp() throws {
        let rules = try TemporaryFile(ReceiveTests.rules, name: "rules.json")
        let run = try WatchedRun(rules.path)
        kill(run.agent.process, SIGHUP)
        try run.send(ReceiveTests.lines)
        try run.agent.wait { $0.log.contains("unrouted (noRoute)") && $0.log.contains("deadLettered") }
        #expect(try run.agent.stop() == 0)
        #expect(
            run.agent.log.contains("stopped: 5 ended in all, 0 of them while it stopped; 0 cancelled, 0 left"),
            "\(run.agent.log)")
    }

    @Test("two signals at once, as of 'timeout', count as one: what is being handled may end")
    func twice() throws {
        let rules = try TemporaryFile(
            #"{"version":1,"rules":[{"id":"a","then":{"run":["/bin/sh","-c","echo begun; sleep 0.5"]}}]}"#,
            name: "rules.json")
        let run = try WatchedRun(rules.path)
        try run.send(#"{"bucketID":"settings","objectScopeType":"APP","when":1}"#)
        try run.agent.wait { $0.log.contains("begun") }
        for signal in [SIGTERM, SIGINT] { kill(run.agent.process, signal) }
        #expect(try run.agent.end() == 0)
        #expect(run.agent.log.contains("1 of them while it stopped"), "\(run.agent.log)")
    }

    @Test("SIGTERM while the rules are still being read ends it with 0, and nothing is taken in")
    func duringRules() throws {
        let folder = try TemporaryFile(ReceiveTests.lines, name: "lines")
        // So many that they are still being read when the signal comes.
        let many = (0..<20_000).map { #"{"id":"r\#($0)","when":{"bucket":"b\#($0)"},"then":{"print":true}}"# }
        let rules = try TemporaryFile(#"{"version":1,"rules":[\#(many.joined(separator: ","))]}"#, name: "rules.json")
        let agent = try RunningAgent(["--rules", rules.path, "--stdin"], input: folder.path) { $0.isCatching(SIGTERM) }
        kill(agent.process, SIGTERM)
        #expect(try agent.end() == 0)
        #expect(agent.log.contains("stopping"))
        #expect(agent.output.isEmpty)
        #expect(!agent.log.contains("ready"))
    }
}

extension RunningAgent {
    /// Whether the process has a handler for a signal, or lets a descriptor have it.
    fileprivate func isCatching(_ signal: Int32) -> Bool {
        guard let status = try? ByteReader(path: "/proc/\(process)/status").readAll(limit: 16_384) else { return false }
        let mask = UInt64(1) << UInt64(signal - 1)
        return String(decoding: status, as: UTF8.self).split(separator: "\n").contains { line in
            guard line.hasPrefix("SigCgt:"), let bits = UInt64(line.split(separator: "\t").last ?? "", radix: 16) else {
                return false
            }
            return bits & mask != 0
        }
    }
}

@Suite("programs of an agent that is killed", .timeLimit(.minutes(5)))
struct OrphanTests {
    @Test("a program and what it has started end with the agent, also by SIGKILL")
    func killed() throws {
        let pids = try TemporaryFile("", name: "pids")
        // What a program reads comes after the agent has named its group to the guardian.
        let script = "cat > /dev/null; echo $$ >> \(pids.path); sleep 1000 & echo $! >> \(pids.path); wait"
        let rules = try TemporaryFile(
            #"{"version":1,"rules":[{"id":"all","then":{"run":["/bin/sh","-c","\#(script)"]}}]}"#, name: "rules.json")
        let run = try WatchedRun(rules.path)
        let lines = ReceiveTests.lines.split(separator: "\n").map { String($0) }
        for line in lines.suffix(2) { try run.send(line) }
        func processes() -> [pid_t] { ((try? pids.contents()) ?? "").split(separator: "\n").compactMap { pid_t($0) } }
        try run.agent.wait { _ in processes().count == 4 }
        // Without the shell that guards them, the next program brings another one.
        let shells = try Self.children(of: run.agent.process).filter { !processes().contains($0) }
        #expect(shells.count == 1)
        for shell in shells { #expect(kill(shell, SIGKILL) == 0) }
        try run.agent.wait { _ in shells.allSatisfy { isOver($0) } }
        try run.send(lines[0])
        try run.agent.wait { _ in processes().count == 6 }
        #expect(try run.agent.stop(SIGKILL) == 256 + SIGKILL)
        try run.agent.wait { _ in processes().allSatisfy { isOver($0) } }
    }

    private static func children(of process: pid_t) throws -> [pid_t] {
        try #require(entries(ofDirectory: "/proc/\(process)/task")).flatMap { thread in
            let bytes = try ByteReader(regularFile: "/proc/\(process)/task/\(thread)/children").readAll(limit: 4096)
            return String(decoding: bytes, as: UTF8.self).split(separator: " ").compactMap { pid_t($0) }
        }
    }
}

@Suite("an agent that was started in an unusual way", .timeLimit(.minutes(5)))
struct UnusualStartTests {
    /// Starts an agent for one message by a shell, and returns its end and its log.
    private func run(_ start: String, _ options: String) throws -> (end: ChildProcess.End, log: String) {
        let rules = try TemporaryFile(#"{"version":1,"rules":[{"id":"all","then":{"run":["true"]}}]}"#, name: "r.json")
        let (input, log) = (try TemporaryFile(#"{"a":1}"#), try TemporaryFile("", name: "log"))
        let command = "\(start) \(try toolPath()) receive --rules \(rules.path) --stdin \(options)"
        let end = try ChildProcess.run(
            "/bin/sh", ["-c", "\(command) <\(input.path) 2>\(log.path)"], limit: .seconds(40))
        return (end, try log.contents())
    }

    @Test("it learns how its programs end, also from a process that ignores the end of its own")
    func ignoredChildren() throws {
        let (end, log) = try run("env --ignore-signal=CHLD", "")
        #expect(end == .exited(0) && log.contains("message 1: handled"), "\(log)")
    }

    @Test("a missing /proc is told, in which Swift finds the arguments", .enabled(if: FirstProcessTests.mayUnshare))
    func withoutProcesses() throws {
        let log = try TemporaryFile("", name: "log")
        let script = "umount -l /proc && exec \(try toolPath()) status 2>\(log.path)"
        let end = try ChildProcess.run("unshare", ["--mount", "/bin/sh", "-c", script], limit: .seconds(20))
        #expect(end == .exited(1))
        #expect(try log.contents() == "kiipush: its arguments are unknown without /proc; mount it\n")
    }

    @Test("an address space that may be too small for a thread is told")
    func smallAddressSpace() throws {
        let (end, log) = try run("ulimit -v 1000000;", "")
        #expect(end == .exited(0) && log.contains("raise it with 'ulimit -v'"), "\(log)")
    }

    @Test("a limit of file sizes that is too small for its state is told", .enabled(if: AgentState.isDurable))
    func smallFiles() throws {
        let folder = try Folder()
        let (end, log) = try run("ulimit -f 16;", "--state \(folder["state"])")
        #expect(end == .exited(1) && log.contains("state/kiipush.db: no room is left"), "\(log)")
    }
}

@Suite("an agent with few open files", .timeLimit(.minutes(5)))
struct FewDescriptorsTests {
    /// Sets how many files a process may have open, which counts for what it opens from then on.
    private func setLimit(_ count: Int, _ process: pid_t) throws {
        let options = ["--pid", "\(process)", "--nofile=\(count):1024"]
        #expect(try ChildProcess.run("prlimit", options, limit: .seconds(20)) == .exited(0))
    }

    @Test("open files that run out while it runs cost no message an attempt; it goes on by itself once there are some")
    func runningOut() throws {
        // A line for each message that a program has had.
        let handled = try TemporaryFile("", name: "handled")
        let rules = try TemporaryFile(
            """
            {"version":1,"rules":[{"id":"all","when":{"bucket":"settings"},"then":{"run":["tee","-a","\(handled.path)"]},
              "pace":"unlimited","delivery":{"attempts":1}}]}
            """, name: "rules.json")
        let run = try WatchedRun(rules.path, nil, ["--metrics", rules.path + ".prom"])
        // Not even for one program.
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(run.agent.process)/fd").count
        try setLimit(open + 1, run.agent.process)
        for number in 0..<60 {
            try run.send(
                #"{"bucketID":"settings","objectScopeType":"APP","objectID":"o\#(number)","when":\#(number)}"#)
        }
        try run.agent.wait { $0.log.contains("short of descriptors: programs cannot be started") }
        #expect(!run.agent.log.contains("deadLettered"))
        try setLimit(1024, run.agent.process)
        try run.agent.wait { $0.log.contains("no longer short of descriptors") }
        try run.agent.wait { _ in (try? handled.contents().split(separator: "\n").count) == 60 }
        #expect(try run.agent.stop() == 0)
        let log = run.agent.log
        #expect(!log.contains("deadLettered") && !log.contains("attempt 1 failed"), "\(log)")
        #expect(log.split(separator: "\n").count { $0.contains(" short of descriptors: ") } == 1)
    }
}
