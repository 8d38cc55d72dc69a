#if SQLite
import Foundation
import Glibc
import Testing

@testable import kiipush
@testable import KiiPushAgent
@testable import KiiPushTestSupport

@Suite("an agent whose state is damaged", .serialized, .timeLimit(.minutes(5)))
struct HealedAgentTests {
    @Test(
        "it starts, and says what was saved, in its log, its status, its metrics and at each start", arguments: [0, 1])
    func heals(kind: Int) throws {
        let folder = try TemporaryFile(ReceiveTests.rules, name: "rules.json")
        let directory = folder.directory
        let (state, socket, metrics) = (directory + "/state", directory + "/push.sock", directory + "/metrics.prom")
        func agent() throws -> RunningAgent {
            try RunningAgent(["--rules", folder.path, "--unix", socket, "--state", state, "--metrics", metrics])
        }
        func tool(_ arguments: String...) throws -> ChildRun { try ChildRun(arguments + ["--state", state]) }
        func ask(_ line: String) throws -> String? { try SocketPeer(socket, within: .seconds(60)).ask(line) }
        let first = try agent()
        #expect(try ask("nonsense")?.contains("undecodable") == true)
        #expect(try first.stop() == 0)
        let file = state + "/kiipush.db"
        let size = kind == 0 ? 0 : try Data(contentsOf: URL(filePath: file)).count - 4096
        #expect(unsafe truncate(file, size) == 0)
        // A command would hide it.
        let refused = try tool("dead-letters", "list")
        #expect(refused.code != 0 && refused.errors.contains(kind == 0 ? "empty or missing" : "damaged"))

        let second = try agent()
        let letters = kind == 0 ? 0 : 1
        #expect(second.log.contains("the state was \(kind == 0 ? "empty or missing" : "damaged")"), "\(second.log)")
        #expect(second.log.contains("\(letters) dead letter\(letters == 1 ? "" : "s"), "), "\(second.log)")
        try second.wait { $0.log.contains("state: messages may be lost") }
        let status = try #require(AgentStatus(json: try tool("status", "--format", "json").output))
        #expect(status.healed?.contains("\(state)/kiipush.db.damaged-") == true)
        #expect(status.isHealthy && status.deadLetters.count == Int64(letters))
        #expect(try tool("status").output.contains("healed      the state was"))
        // Until a message is accepted, the next start says it as if for the first time.
        let push = #"{"bucketID":"settings","objectScopeType":"APP","objectID":"o","when":1}"#
        #expect(try ask(push)?.contains("handled") == true)
        #expect(try second.stop() == 0)
        let written = try String(contentsOfFile: metrics, encoding: .utf8)
        #expect(written.contains(#"kiipush_transport_events_total{transport="state",event="possibleGap"} 1"#))

        let third = try agent()
        #expect(third.log.contains("at an earlier start: the state was"))
        #expect(try third.stop() == 0 && !third.log.contains("messages may be lost"))
    }

    @Test(
        "damaged while it runs, it takes nothing more in, says so, ends with 1; the next start heals what is gone, and knows what was done",
        arguments: ["removed", "emptied", "replaced"])
    func ends(how: String) throws {
        let rules = try TemporaryFile(ReceiveTests.rules, name: "rules.json")
        let directory = rules.directory
        let (state, socket) = (directory + "/state", directory + "/push.sock")
        func agent() throws -> RunningAgent {
            try RunningAgent(["--rules", rules.path, "--unix", socket, "--state", state])
        }
        func ask(_ line: String) throws -> String? { try SocketPeer(socket, within: .seconds(60)).ask(line) }
        let first = try agent()
        let payload = #"{"bucketID":"settings","objectScopeType":"APP","objectID":"o","when":1}"#
        #expect(try ask(payload)?.contains(#""disposition":"accept""#) == true)
        let file = state + "/kiipush.db"
        switch how {
        case "removed": #expect(unsafe unlink(file) == 0)
        case "emptied": #expect(unsafe truncate(file, 0) == 0)
        default:
            try FileManager.default.copyItem(atPath: file, toPath: file + ".copy")
            #expect(unsafe rename(file + ".copy", file) == 0)
        }
        let answer = try ask(payload.replacing("\"when\":1", with: "\"when\":2"))
        #expect(answer?.contains(#""disposition":"accept""#) == false, "\(answer ?? "")")
        #expect(try first.end() == 1)
        #expect(first.log.contains("the state is damaged: \(file): is empty or missing"), "\(first.log)")
        let second = try agent()
        #expect(second.log.contains("the state was empty or missing") == (how != "replaced"), "\(second.log)")
        #expect(try ask(payload)?.contains(#""outcome":"duplicate""#) == true)
        #expect(try second.stop() == 0)
    }
}
#endif
