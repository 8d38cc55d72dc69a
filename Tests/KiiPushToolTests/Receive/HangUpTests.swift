import Glibc
import Testing

@testable import kiipush

@Suite("an agent and the signals of an operator", .timeLimit(.minutes(5)))
struct HangUpTests {
    @Test("SIGHUP does not end an agent, which looks at its rules then; its last line counts what has ended")
    func hangUp() throws {
        let rules = try TemporaryFile(ReceiveTests.rules, name: "rules.json")
        let input = rules.path + ".in"
        #expect(unsafe mkfifo(input, 0o600) == 0)
        let feed = unsafe open(input, O_RDWR | O_CLOEXEC)
        defer { close(feed) }
        let agent = try RunningAgent(["--rules", rules.path, "--stdin"], input: input)
        kill(agent.process, SIGHUP)
        for line in ReceiveTests.lines.split(separator: "\n") {
            #expect(unsafe write(feed, "\(line)\n", line.utf8.count + 1) == line.utf8.count + 1)
        }
        try agent.wait { $0.log.contains("unrouted (noRoute)") && $0.log.contains("deadLettered") }
        #expect(try agent.stop() == 0)
        #expect(
            agent.log.contains("stopped: 5 ended in all, 0 of them while it stopped; 0 cancelled, 0 left"),
            "\(agent.log)")
    }
}
