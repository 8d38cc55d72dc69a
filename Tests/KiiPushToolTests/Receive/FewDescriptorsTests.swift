import Foundation
import Glibc
import Testing

@testable import KiiPushAgent
@testable import KiiPushSystem
@testable import kiipush

@Suite("an agent with few open files", .timeLimit(.minutes(5)))
struct FewDescriptorsTests {
    /// A line for each message that a program has had.
    private let handled: TemporaryFile

    init() throws { handled = try TemporaryFile("", name: "handled") }

    /// An agent that reads a pipe, and the other end of that.
    private func agent(_ limit: (pid_t) throws -> Void) throws -> (agent: RunningAgent, feed: Int32) {
        let rules = try TemporaryFile(
            """
            {"version":1,"rules":[{"id":"all","when":{"bucket":"settings"},"then":{"run":["tee","-a","\(handled.path)"]},
              "pace":"unlimited","delivery":{"attempts":1}}]}
            """, name: "rules.json")
        let input = rules.path + ".in"
        #expect(unsafe mkfifo(input, 0o600) == 0)
        let feed = unsafe open(input, O_RDWR | O_CLOEXEC)
        let agent = try RunningAgent(
            ["--rules", rules.path, "--stdin", "--metrics", rules.path + ".prom"], input: input)
        try limit(agent.process)
        return (agent, feed)
    }

    private func feed(_ count: Int, _ descriptor: Int32) {
        for number in 0..<count {
            let line =
                #"{"bucketID":"settings","objectScopeType":"APP","objectID":"o\#(number)","when":\#(number)}"# + "\n"
            #expect(unsafe write(descriptor, line, line.utf8.count) == line.utf8.count)
        }
    }

    /// Sets how many files a process may have open, which counts for what it opens from then on.
    private func setLimit(_ count: Int, _ process: pid_t) throws {
        let run = try ToolProcess.run(["prlimit", "--pid", "\(process)", "--nofile=\(count):1024"])
        #expect(run == 0)
    }

    @Test("open files that run out while it runs cost no message an attempt; it goes on by itself once there are some")
    func runningOut() throws {
        var process: pid_t = 0
        let (agent, descriptor) = try agent { id in
            process = id
            let open = try DescriptorCount.of(id)
            // Not even for one program.
            try setLimit(open + 1, id)
        }
        defer { close(descriptor) }
        feed(60, descriptor)
        try agent.wait { $0.log.contains("short of descriptors: programs cannot be started") }
        #expect(!agent.log.contains("deadLettered"))
        try setLimit(1024, process)
        try agent.wait { $0.log.contains("no longer short of descriptors") }
        try agent.wait { _ in (try? handled.contents().split(separator: "\n").count) == 60 }
        #expect(try agent.stop() == 0)
        #expect(!agent.log.contains("deadLettered") && !agent.log.contains("attempt 1 failed"), "\(agent.log)")
        #expect(agent.log.split(separator: "\n").filter { $0.contains(" short of descriptors: ") }.count == 1)
    }
}

/// How many files a process has open.
private enum DescriptorCount {
    static func of(_ process: pid_t) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count
    }
}

/// A program of the system, run to its end.
private enum ToolProcess {
    static func run(_ vector: [String]) throws -> Int32 {
        guard case .exited(let status) = try ChildProcess.run(vector[0], Array(vector.dropFirst()), limit: .seconds(20))
        else { return -1 }
        return status
    }
}
