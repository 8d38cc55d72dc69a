import Glibc
import Testing

@testable import KiiPushLinux
@testable import kiipush

@Suite("an agent whose log nobody reads", .timeLimit(.minutes(1)))
struct AgentLogTests {
    private static let rules = """
        {"version":1,"rules":[{"id":"all","when":{"bucket":"settings"},"then":{"print":true},"loop":{"rate":false}}]}
        """

    @Test(
        "messages are handled while standard error blocks or is closed, and SIGTERM ends the agent in time",
        arguments: [true, false])
    func blocked(isOpen: Bool) throws {
        let rules = try TemporaryFile(Self.rules, name: "rules.json")
        let input = rules.path + ".in"
        let errors = rules.path + ".err"
        #expect(unsafe mkfifo(input, 0o600) == 0 && mkfifo(errors, 0o600) == 0)
        let feed = unsafe open(input, O_RDWR | O_CLOEXEC)
        defer { close(feed) }
        // Nobody reads: neither from this end, which only keeps the pipe open, nor from one that is closed.
        let reader = unsafe open(errors, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        let output = try TemporaryFile("", name: "output")
        let process = try ChildRun.start(
            ["receive", "--rules", rules.path, "--stdin"], input: input, output: output.path, errors: errors)
        // The smallest there is, for the log leaves out what is told too often.
        let setPipeSize: Int32 = 1031
        #expect(fcntl(reader, setPipeSize, 4096) == 4096)
        if !isOpen { close(reader) }
        defer { if isOpen { close(reader) } }
        let count = 1000
        let lines = (0..<count).map {
            #"{"bucketID":"settings","objectScopeType":"APP","objectID":"o\#($0)","when":\#($0)}"# + "\nnonsense\n"
        }
        for line in lines {
            let bytes = Array(line.utf8)
            #expect(unsafe write(feed, bytes, bytes.count) == bytes.count)
        }
        let end = ContinuousClock.now + .seconds(60)
        while try output.contents().split(separator: "\n").count < count, ContinuousClock.now < end {
            _ = poll(nil, 0, 20)
        }
        #expect(try output.contents().split(separator: "\n").count == count)
        kill(process, SIGTERM)
        var status: Int32 = 0
        let start = ContinuousClock.now
        while unsafe waitpid(process, &status, WNOHANG) == 0 {
            if start.duration(to: .now) > .seconds(8) { kill(process, SIGKILL) }
            _ = poll(nil, 0, 10)
        }
        #expect(status == 0, "\(status)")
    }
}
