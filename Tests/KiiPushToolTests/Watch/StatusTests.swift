import Glibc
import KiiPush
import Testing

@testable import KiiPushAgent
@testable import kiipush

@Suite("kiipush status, and the agent that it asks", .timeLimit(.minutes(5)))
struct StatusTests {
    private let folder: TemporaryFile
    private let directory: String
    private var state: String { directory + "/state" }

    init() throws {
        folder = try TemporaryFile(ReceiveTests.rules, name: "rules.json")
        directory = String(folder.path.dropLast("/rules.json".count))
    }

    @Test("an agent that runs is healthy, and its status has what has passed")
    func running() async throws {
        let agent = try WatchedRun(folder.path, state)
        try agent.send(#"{"bucketID":"settings","objectScopeType":"APP","objectID":"o","when":1}"#)
        try agent.send(#"{"topic":"news","objectScopeType":"APP","when":2}"#)
        try agent.agent.wait { $0.log.contains("deadLettered") }
        _ = await ToolRun("kill", "other", "--for", "1h", "--state", state)
        let run = await ToolRun("status", "--format", "json", "--state", state)
        #expect(run.code == .fine && run.errors.isEmpty, "\(run.errors) \(run.output)")
        let status = try #require(AgentStatus(json: run.output.first ?? ""))
        #expect(status.isHealthy && status.process == Int64(agent.agent.process))
        #expect(status.transports.map(\.name) == ["stdin"] && status.transports.first?.messages == 2)
        #expect(status.transports.first?.lastMessageAt != nil)
        #expect(status.routes.map(\.id) == ["settings", "broken"])
        #expect(status.routes.map(\.handled) == [1, 0] && status.routes.map(\.failed) == [0, 2])
        #expect(status.routes.allSatisfy { $0.p50 != nil && $0.p99 != nil && $0.waitedP99 != nil })
        #expect(status.kills.map(\.target) == ["other"])
        #expect(status.deadLetters.count == 1)
        let text = await ToolRun("status", "--state", state)
        #expect(text.code == .fine && text.output.allSatisfy { $0.count <= 80 }, "\(text.output)")
        #expect(text.output.first?.contains("agent \(agent.agent.process), kiipush \(Version.number): healthy") == true)
        #expect(try agent.agent.stop() == 0)
    }

    @Test("a kill whose id no route has is told, and one of a bucket or of everything is not")
    func unknownKills() async throws {
        let agent = try WatchedRun(folder.path, state)
        let bucket = "kiicloud://users/u/buckets/unheard"
        for target in ["setings", "settings", bucket, "*"] { _ = await ToolRun("kill", target, "--state", state) }
        let run = await ToolRun("status", "--format", "json", "--state", state)
        let status = try #require(AgentStatus(json: run.output.first ?? ""))
        #expect(status.kills.map(\.target) == ["*", bucket, "setings", "settings"])
        #expect(status.kills.map(\.isKnown) == [true, true, false, true])
        let text = await ToolRun("status", "--state", state)
        #expect(text.output.filter { $0.contains("no route has") }.count == 1, "\(text.output)")
        #expect(try agent.agent.stop() == 0)
    }

    @Test("without an agent the code is 2, and no directory is made")
    func nobody() async {
        let run = await ToolRun("status", "--state", state)
        #expect(run.code == .nobody)
        #expect(run.errors == ["kiipush status: no agent runs on \(state); --state names another directory"])
        #expect(unsafe access(state, F_OK) != 0)
    }

    @Test("an agent that is stopped is there, and does not answer: not healthy")
    func stopped() async throws {
        let agent = try WatchedRun(folder.path, state)
        kill(agent.agent.process, SIGSTOP)
        let run = await ToolRun("status", "--state", state)
        #expect(run.code == .failed)
        #expect(run.errors.first?.contains("does not answer") == true, "\(run.errors)")
        kill(agent.agent.process, SIGCONT)
        #expect(try agent.agent.stop() == 0)
    }
}

/// An agent on a pipe that stays open, which answers commands when this is made.
final class WatchedRun {
    let agent: RunningAgent
    private let pipe: Int32
    private let state: String

    init(_ rules: String, _ state: String, _ options: [String] = []) throws {
        let input = rules + ".input"
        guard unsafe mkfifo(input, 0o600) == 0 else { throw ChildRun.Failure(what: "mkfifo", code: errno) }
        // Both ends, so that neither the agent waits for a writer nor its input ends.
        pipe = unsafe open(input, O_RDWR | O_CLOEXEC)
        self.state = state
        agent = try RunningAgent(["--rules", rules, "--stdin", "--state", state] + options, input: input)
        try agent.wait { _ in unsafe access(state + "/control.sock", F_OK) == 0 }
    }

    deinit { close(pipe) }

    /// Sends lines, each a payload.
    func send(_ lines: String...) throws {
        for line in lines {
            let bytes = Array((line + "\n").utf8)
            guard unsafe write(pipe, bytes, bytes.count) == bytes.count else {
                throw ChildRun.Failure(what: "write", code: errno)
            }
        }
    }
}
