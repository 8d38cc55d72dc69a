import Foundation
import Glibc
import Testing

@testable import KiiPushAgent
@testable import KiiPushSystem
@testable import kiipush

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
