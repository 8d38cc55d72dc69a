#if SQLite
import Foundation
import Glibc
import Testing

@testable import KiiPushAgent
@testable import kiipush

@Suite("an agent whose state is damaged while it runs", .serialized, .timeLimit(.minutes(5)))
struct LaterDamageAgentTests {
    @Test(
        "it takes nothing more in, says so, ends with 1; the next start heals what is gone, and knows what was done",
        arguments: ["removed", "emptied", "replaced"])
    func ends(how: String) throws {
        let rules = try TemporaryFile(ReceiveTests.rules, name: "rules.json")
        let directory = String(rules.path.dropLast("/rules.json".count))
        let (state, socket) = (directory + "/state", directory + "/push.sock")
        func agent() throws -> RunningAgent {
            try RunningAgent(["--rules", rules.path, "--unix", socket, "--state", state])
        }
        let first = try agent()
        let payload = #"{"bucketID":"settings","objectScopeType":"APP","objectID":"o","when":1}"#
        #expect(try LineClient(socket).ask(payload)?.contains(#""disposition":"accept""#) == true)
        let file = state + "/kiipush.db"
        switch how {
        case "removed": #expect(unsafe unlink(file) == 0)
        case "emptied": #expect(unsafe truncate(file, 0) == 0)
        default:
            try FileManager.default.copyItem(atPath: file, toPath: file + ".copy")
            #expect(unsafe rename(file + ".copy", file) == 0)
        }
        let answer = try LineClient(socket).ask(payload.replacing("\"when\":1", with: "\"when\":2"))
        #expect(answer?.contains(#""disposition":"accept""#) == false, "\(answer ?? "")")
        #expect(try first.end() == 1)
        #expect(first.log.contains("the state is damaged: \(file): is empty or missing"), "\(first.log)")
        let second = try agent()
        #expect(second.log.contains("the state was empty or missing") == (how != "replaced"), "\(second.log)")
        #expect(try LineClient(socket).ask(payload)?.contains(#""outcome":"duplicate""#) == true)
        #expect(try second.stop() == 0)
    }
}
#endif
