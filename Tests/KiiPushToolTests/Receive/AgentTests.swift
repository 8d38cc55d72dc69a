#if SQLite
import Foundation
import Glibc
import Testing

@testable import KiiPushAgent
@testable import KiiPushSystem
@testable import kiipush
@testable import KiiPushTestSupport

@Suite("an agent with a state directory, and the commands that work on it", .serialized, .timeLimit(.minutes(5)))
struct AgentTests {
    private let folder: TemporaryFile
    private var directory: String { folder.directory }
    private var state: String { directory + "/state" }
    private var socket: String { directory + "/push.sock" }

    init() throws { folder = try TemporaryFile(ReceiveTests.rules, name: "rules.json") }

    private func tool(_ arguments: String...) throws -> ChildRun { try ChildRun(arguments + ["--state", state]) }

    private func agent(_ options: [String] = [], variables: [String] = []) throws -> RunningAgent {
        let arguments = ["--rules", folder.path, "--unix", socket, "--state", state]
        return try RunningAgent(arguments + options, variables: variables)
    }

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
        let agent = try agent(["--metrics", metrics], variables: ["NOTIFY_SOCKET=\(notify)"])
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

    #if MQTT
    @Test("an agent whose broker is away is ready to its manager, which is told that it is not connected")
    func brokerAway() throws {
        let notify = directory + "/notify"
        let manager = try DatagramSocket(path: notify)
        // Nobody who is not root can listen at port 1, and nobody does.
        let agent = try RunningAgent(
            ["--rules", folder.path, "--state", state, "--mqtt", "mqtt://127.0.0.1:1/t"],
            variables: ["NOTIFY_SOCKET=\(notify)"])
        var told: [String] = []
        try agent.wait { _ in
            if let next = manager.next { told.append(next) }
            return told.last?.hasPrefix("STATUS=not connected: ") == true
        }
        #expect(told.contains("READY=1"))
        #expect(try agent.stop() == 0)
    }
    #endif

    @Test("a metrics file that cannot be written is told once, and in the status while it lasts; payloads are taken")
    func unwritableMetrics() throws {
        let metrics = directory + "/gone/metrics.prom"
        let agent = try agent(["--metrics", metrics])
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
        try agent.wait { _ in (try? tool("status"))?.output.contains("no new kill is applied") == true }
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
        try agent.wait { $0.log.contains("; dead letter 1; attempt 2; route broken") }
        #expect(agent.log.contains("attempt 1 failed (\(why)"), "\(agent.log)")
        #expect(agent.log.contains(": attempt 2: sh: no such lamp\n"), "\(agent.log)")
        #expect(agent.log.contains(": deadLettered (failed): \(why)"), "\(agent.log)")
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
              {"id":"raw","when":{"command":"raw"},"then":{"run":["/bin/sh","-c","printf 'answer \"\\351\"\\n'"]}},
              {"id":"long","when":{"command":"long"},"then":{"run":["/bin/sh","-c","echo answer 1; printf 'answer failed %5000d'"]}}]}
            """#
        try rules.write(toFile: folder.path, atomically: true, encoding: .utf8)
        let agent = try agent()
        func command(_ action: String) -> String {
            #"{"commandID":"c-\#(action)","actions":[{"lamp":[{"\#(action)":1}]}]}"#
        }
        let replies = try send(command("power"), command("dim"), command("bad"), command("raw"), command("long"), news)
        #expect(
            replies == [
                #"{"outcome":"handled","disposition":"accept","answer":{"on":true}}"#,
                #"{"outcome":"handled","disposition":"accept","error":"no such lamp"}"#,
                #"{"outcome":"handled","disposition":"accept","error":"the program's answer cannot be read"}"#,
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
            #expect(try tool("dead-letters", "show", "--reason", "undecodable").output.contains("\n  nonsense\n"))
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

    // MARK: A damaged state

    @Test(
        "one whose state is damaged starts, and says what was saved, in its log, status and metrics, and at each start",
        arguments: [0, 1])
    func heals(kind: Int) throws {
        let metrics = directory + "/metrics.prom"
        let first = try agent()
        #expect(try send("nonsense").first?.contains("undecodable") == true)
        #expect(try first.stop() == 0)
        let file = state + "/kiipush.db"
        let size = kind == 0 ? 0 : try Data(contentsOf: URL(filePath: file)).count - 4096
        #expect(unsafe truncate(file, size) == 0)
        // A command would hide it.
        let refused = try tool("dead-letters", "list")
        #expect(refused.code != 0 && refused.errors.contains(kind == 0 ? "empty or missing" : "damaged"))

        let second = try agent(["--metrics", metrics])
        let letters = kind == 0 ? 0 : 1
        #expect(second.log.contains("the state was \(kind == 0 ? "empty or missing" : "damaged")"), "\(second.log)")
        #expect(second.log.contains("\(letters) dead letter\(letters == 1 ? "" : "s"), "), "\(second.log)")
        try second.wait { $0.log.contains("state: messages may be lost") }
        let status = try #require(AgentStatus(json: try tool("status", "--format", "json").output))
        #expect(status.healed?.contains("\(state)/kiipush.db.damaged-") == true)
        #expect(status.isHealthy && status.deadLetters.count == Int64(letters))
        #expect(try tool("status").output.contains("healed      the state was"))
        // Until a message is accepted, the next start says it as if for the first time.
        #expect(try send(event(1)) == [handled])
        #expect(try second.stop() == 0)
        let written = try String(contentsOfFile: metrics, encoding: .utf8)
        #expect(written.contains(#"kiipush_transport_events_total{transport="state",event="possibleGap"} 1"#))

        let third = try agent()
        #expect(third.log.contains("at an earlier start: the state was"))
        #expect(try third.stop() == 0 && !third.log.contains("messages may be lost"))
    }

    @Test(
        "one whose state is damaged while it runs takes nothing more in and ends with 1; the next knows what was done",
        arguments: ["removed", "emptied", "replaced"])
    func ends(how: String) throws {
        let first = try agent()
        #expect(try send(event(1)).first?.contains(#""disposition":"accept""#) == true)
        let file = state + "/kiipush.db"
        switch how {
        case "removed": #expect(unsafe unlink(file) == 0)
        case "emptied": #expect(unsafe truncate(file, 0) == 0)
        default:
            try FileManager.default.copyItem(atPath: file, toPath: file + ".copy")
            #expect(unsafe rename(file + ".copy", file) == 0)
        }
        let answer = try send(event(2))
        #expect(answer.first?.contains(#""disposition":"accept""#) == false, "\(answer)")
        #expect(try first.end() == 1)
        #expect(first.log.contains("the state is damaged: \(file): is empty or missing"), "\(first.log)")
        let second = try agent()
        #expect(second.log.contains("the state was empty or missing") == (how != "replaced"), "\(second.log)")
        #expect(try send(event(1)).first?.contains(#""outcome":"duplicate""#) == true)
        #expect(try second.stop() == 0)
    }
}
#endif
