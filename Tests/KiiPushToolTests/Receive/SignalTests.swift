import Glibc
import Synchronization
import Testing

@testable import KiiPushAgent
@testable import KiiPushSystem
@testable import kiipush

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

    @Test(
        "a request is obeyed once, whether it is made before somebody waits for it or after", arguments: [true, false])
    func request(isEarly: Bool) {
        let request = StopRequest()
        let calls = Atomic<Int>(0)
        if isEarly { request.make() }
        request.onMade { calls.add(1, ordering: .relaxed) }
        #expect(calls.load(ordering: .relaxed) == (isEarly ? 1 : 0))
        if !isEarly { request.make() }
        #expect(calls.load(ordering: .relaxed) == 1 && request.isMade)
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
