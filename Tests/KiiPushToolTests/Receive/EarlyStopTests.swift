import Glibc
import Synchronization
import Testing

@testable import KiiPushLinux
@testable import kiipush

@Suite("an agent that is asked to stop before it runs", .timeLimit(.minutes(5)))
struct EarlyStopTests {
    @Test("SIGTERM while the rules are still being read ends it with 0, and nothing is taken in")
    func duringRules() throws {
        let folder = try TemporaryFile(ReceiveTests.lines, name: "lines")
        let rules = folder.path + ".fifo"
        #expect(unsafe mkfifo(rules, 0o600) == 0)
        // It blocks where it opens the rules, until somebody has them.
        let agent = try RunningAgent(["--rules", rules, "--stdin"], input: folder.path) {
            $0.isCatching(SIGTERM)
        }
        kill(agent.process, SIGTERM)
        try agent.wait { $0.log.contains("stopping") }
        let writer = unsafe open(rules, O_WRONLY | O_CLOEXEC)
        let text = ReceiveTests.rules
        #expect(unsafe write(writer, text, text.utf8.count) == text.utf8.count)
        close(writer)
        #expect(try agent.end() == 0)
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
