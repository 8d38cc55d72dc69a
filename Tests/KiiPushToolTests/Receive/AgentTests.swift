#if SQLite
import Foundation
import Glibc
import Testing

@testable import KiiPushAgent
@testable import KiiPushSystem
@testable import kiipush
@testable import KiiPushTestSupport

@Suite("an agent with a state directory, and the commands that work on it", .serialized)
struct AgentTests {
    private let folder: TemporaryFile
    private var directory: String { folder.directory }
    private var state: String { directory + "/state" }
    private var socket: String { directory + "/push.sock" }

    init() throws { folder = try TemporaryFile(ReceiveTests.rules, name: "rules.json") }

    private func tool(_ arguments: String...) throws -> ChildRun { try ChildRun(arguments + ["--state", state]) }

    private func agent() throws -> RunningAgent {
        try RunningAgent(["--rules", folder.path, "--unix", socket, "--state", state])
    }

    /// Sends lines to the agent and returns its answers.
    private func send(_ lines: String...) throws -> [String] {
        let client = try SocketPeer(socket, within: .seconds(60))
        return lines.compactMap { client.ask($0) }
    }

    private func event(_ number: Int, _ object: String = "o") -> String {
        #"{"bucketID":"settings","objectScopeType":"APP","objectID":"\#(object)","when":\#(number)}"#
    }

    @Test("an agent whose state another program locks refuses payloads, is not healthy, and is both again")
    func lockedState() throws {
        let (metrics, notify) = (directory + "/metrics.prom", directory + "/notify")
        let manager = try DatagramSocket(path: notify)
        var last = ""
        func isTold(_ text: String) -> Bool {
            while let next = manager.next { last = next }
            return last.contains(text)
        }
        let agent = try RunningAgent(
            ["--rules", folder.path, "--unix", socket, "--state", state, "--metrics", metrics],
            variables: ["NOTIFY_SOCKET=\(notify)"])
        #expect(try send(event(1)).first?.contains("accept") == true)
        try agent.wait { _ in isTold("STATUS=connected: listens at ") }
        // The lock that SQLite's writers share, in the log's index.
        let index = unsafe open(state + "/kiipush.db-shm", O_RDWR | O_CLOEXEC)
        var lock = flock(l_type: Int16(F_WRLCK), l_whence: Int16(SEEK_SET), l_start: 120, l_len: 1, l_pid: 0)
        try #require(unsafe fcntl(index, F_SETLK, &lock) == 0)
        // Before any payload has met it, and after.
        for _ in 1...2 {
            let status = try tool("status")
            #expect(status.code == 1 && status.output.contains("NOT HEALTHY"), "\(status.output)")
            #expect(status.output.contains("accepts no payloads") && status.output.contains("locked"))
            #expect(try tool("status", "--format", "json").output.contains(#""healthy":false"#))
            #expect(try send(event(2)).first?.contains("notTaken") == true)
        }
        try agent.wait { _ in isTold("STATUS=accepts no payloads") }
        func metric(_ line: String) -> Bool {
            (try? String(contentsOfFile: metrics, encoding: .utf8))?.contains("\(line)\n") == true
        }
        try agent.wait { _ in metric("kiipush_service_open 0") && metric("kiipush_healthy 0") }
        #expect(!metric("kiipush_store_failures_total 0"))
        close(index)
        #expect(try tool("status").code == 0)
        #expect(try send(event(3)).first?.contains("accept") == true)
        try agent.wait { _ in metric("kiipush_service_open 1") && metric("kiipush_healthy 1") }
        try agent.wait { _ in isTold("STATUS=connected: listens at ") }
        #expect(try agent.stop() == 0)
    }

    @Test("a metrics file that cannot be written is told once, and in the status while it lasts; payloads are taken")
    func unwritableMetrics() throws {
        let metrics = directory + "/gone/metrics.prom"
        let agent = try RunningAgent(["--rules", folder.path, "--unix", socket, "--state", state, "--metrics", metrics])
        let what = "metrics.prom: cannot be written: No such file or directory"
        // The second round comes a second after the first.
        try agent.wait { _ in (try? tool("status", "--format", "json"))?.output.contains(what) == true }
        #expect(try send(event(1)).first?.contains("accept") == true)
        _ = poll(nil, 0, 1500)
        let status = try tool("status")
        #expect(status.code == 0 && status.output.contains("metrics     "), "\(status.output)")
        #expect(unsafe mkdir(directory + "/gone", 0o700) == 0)
        try agent.wait { _ in (try? tool("status", "--format", "json"))?.output.contains(what) == false }
        #expect(agent.log.split(separator: "\n").count { $0.contains("cannot be written") } == 1, "\(agent.log)")
        #expect(try agent.stop() == 0)
    }

    @Test("an agent that cannot read its kill file says so, and is not healthy, until it can")
    func unreadableKills() throws {
        let agent = try agent()
        #expect(try tool("status").code == 0)
        #expect(unsafe mkdir(state + "/kill.json", 0o700) == 0)
        try agent.wait { _ in (try? tool("status"))?.output.contains("no kill can be applied") == true }
        #expect(try tool("status").code == 1)
        #expect(unsafe rmdir(state + "/kill.json") == 0)
        try agent.wait { _ in (try? tool("status"))?.code == 0 }
        #expect(try agent.stop() == 0)
    }

    private let news = #"{"topic":"news","objectScopeType":"APP","when":2}"#
    private let handled = #"{"outcome":"handled","disposition":"accept"}"#

    @Test("what an agent has handled is a duplicate for the next one, and SIGTERM ends each with 0")
    func restart() throws {
        let first = try agent()
        #expect(try send(event(1)) == [handled])
        #expect(try first.stop() == 0)
        let second = try agent()
        #expect(try send(event(1)) == [#"{"outcome":"duplicate","disposition":"accept","reason":"done"}"#])
        #expect(try send(event(2)) == [handled])
        #expect(try second.stop(SIGKILL) == 256 + SIGKILL)
        let third = try agent()
        #expect(try send(event(2)) == [#"{"outcome":"duplicate","disposition":"accept","reason":"done"}"#])
        #expect(try third.stop() == 0)
        // A clean end leaves one file, not its log.
        let files = try FileManager.default.contentsOfDirectory(atPath: state)
        #expect(files.filter { $0.hasSuffix("-wal") || $0.hasSuffix("-shm") || $0.hasSuffix(".sock") } == [])
    }

    @Test("a dead letter says why its program failed, and a list the beginning of that")
    func cause() throws {
        let rules = ReceiveTests.rules.replacingOccurrences(
            of: #"["/bin/false"]"#, with: #"["/bin/sh","-c","echo no such lamp >&2; printf '%0100d' 0 >&2; exit 3"]"#)
        try rules.write(toFile: folder.path, atomically: true, encoding: .utf8)
        let agent = try agent()
        _ = try send(news)
        let why = "sh: ended with exit status 3, saying: no such lamp / 00000"
        #expect(agent.log.contains("attempt 1 failed (\(why)"), "\(agent.log)")
        let list = try tool("dead-letters", "list").output
        #expect(list.contains("last \(why)") && list.contains("…"))
        #expect(try tool("dead-letters", "show", "1").output.contains(String(repeating: "0", count: 100)))
        #expect(try agent.stop() == 0)
    }

    @Test("a program's answer is in the reply of the socket, and so is the reason why a command cannot be done")
    func answers() throws {
        let rules = #"""
            {"version":1,"rules":[
              {"id":"power","when":{"command":"power"},"then":{"run":["/bin/sh","-c","echo first; echo 'answer {\"on\": true}'"]}},
              {"id":"dim","when":{"command":"dim"},"then":{"run":["/bin/sh","-c","echo answer failed no such lamp"]}},
              {"id":"bad","when":{"command":"bad"},"then":{"run":["/bin/sh","-c","echo answer nonsense"]}},
              {"id":"long","when":{"command":"long"},"then":{"run":["/bin/sh","-c","echo answer 1; printf 'answer failed %5000d'"]}}]}
            """#
        try rules.write(toFile: folder.path, atomically: true, encoding: .utf8)
        let agent = try agent()
        func command(_ action: String) -> String {
            #"{"commandID":"c-\#(action)","actions":[{"lamp":[{"\#(action)":1}]}]}"#
        }
        let replies = try send(command("power"), command("dim"), command("bad"), command("long"), news)
        #expect(
            replies == [
                #"{"outcome":"handled","disposition":"accept","answer":{"on":true}}"#,
                #"{"outcome":"handled","disposition":"accept","error":"no such lamp"}"#,
                #"{"outcome":"handled","disposition":"accept","error":"the program's answer cannot be read"}"#,
                #"{"outcome":"handled","disposition":"accept","error":"the program's answer is too long"}"#,
                #"{"outcome":"unrouted","disposition":"accept","reason":"noRoute"}"#,
            ])
        #expect(agent.log.contains("sh: first") && agent.log.contains("the answer is not JSON"), "\(agent.log)")
        #expect(!agent.log.contains("no such lamp") && !agent.log.contains(#""on""#), "\(agent.log)")
        #expect(try agent.stop() == 0)
    }

    @Test("dead letters are listed, shown, replayed and dropped, while the agent runs and when it does not")
    func letters() throws {
        let agent = try agent()
        #expect(
            try send("nonsense", news) == [
                #"{"outcome":"undecodable","disposition":"reject","reason":"unexpectedCharacter"}"#,
                #"{"outcome":"deadLettered","disposition":"accept","reason":"failed"}"#,
            ])
        for isRunning in [true, false] {
            if !isRunning { #expect(try agent.stop() == 0) }
            let list = try tool("dead-letters", "list")
            #expect(list.code == 0, "\(list.errors)")
            let who = isRunning ? "answered by agent \(agent.process), which runs in " : "no agent runs here; its files"
            #expect(list.errors.hasPrefix(who), "\(list.errors)")
            #expect(list.output.split(separator: "\n").map { $0.prefix(14) } == ["1: undecodable", "2: failed, arr"])
            #expect(list.output.contains("for broken, tried 2"))
            #expect(!list.output.contains("nonsense"))
            #expect(
                try tool("dead-letters", "list", "--reason", "failed", "--format", "json").output.hasPrefix(
                    #"{"id":2,"#))
            #expect(try tool("dead-letters", "show", "1").output.contains("\n  nonsense\n"))
            #expect(try tool("dead-letters", "drop", "--all", "--dry-run").output.hasPrefix("would drop 1: "))
            let replay = try tool("dead-letters", "replay", "--route", "broken")
            #expect(replay.code == (isRunning ? 1 : 2))
            #expect(replay.output == (isRunning ? "2: failed (broken)\n" : ""))
            #expect(replay.errors.contains("no agent runs") == !isRunning)
        }
        #expect(try tool("dead-letters", "drop", "9").code == 1)
        #expect(try tool("dead-letters", "drop", "--reason", "undecodable").output == "dropped 1\n")
        #expect(try tool("dead-letters", "list").output.hasPrefix("2: "))
    }

    @Test("a letter that the rules of today can handle is handled when it is replayed, and is gone")
    func replay() throws {
        let agent = try agent()
        _ = try send(news)
        let better = ReceiveTests.rules.replacingOccurrences(of: "/bin/false", with: "/bin/true")
        try better.write(toFile: folder.path, atomically: true, encoding: .utf8)
        try agent.wait { $0.log.contains("generation 2") }
        #expect(try tool("dead-letters", "replay", "--all").output == "1: handled\n")
        #expect(try tool("dead-letters", "list").output == "no dead letters\n")
        #expect(try agent.stop() == 0)
    }

    @Test("what waits for its pace when the agent ends is handled by the next one")
    func pacedOverRestart() throws {
        // Letters: of an object, the newest change passes when the next pause begins. An hour, so that a slow machine
        // earns no other one meanwhile; the next agent has twenty anew.
        let rules = #"{"version":1,"rules":[{"id":"l","when":{"topic":"*"},"then":{"print":true},"pace":"1h"}]}"#
        try rules.write(toFile: folder.path, atomically: true, encoding: .utf8)
        func letter(_ number: Int) -> String { #"{"topic":"t","objectScopeType":"APP","when":\#(number)}"# }
        let first = try agent()
        for number in 0..<20 { #expect(try send(letter(number)) == [handled]) }
        #expect(try send(letter(20)) == [#"{"outcome":"stored","disposition":"accept"}"#])
        #expect(try first.stop(SIGKILL) == 256 + SIGKILL)
        let second = try agent()
        try second.wait { $0.output.split(separator: "\n").count == 1 }
        #expect(try second.stop() == 0)
    }
}
#endif
