import Foundation
import Glibc
import KiiPush
import KiiPushSystem
import Testing

@testable import KiiPushAgent
@testable import KiiPushTestSupport
@testable import kiipush

@Suite("kiipush kill and the agent that is to obey", .timeLimit(.minutes(5)))
struct KillAgentTests {
    private let folder: TemporaryFile
    private var state: String { folder.directory + "/state" }

    init() throws { folder = try TemporaryFile(ReceiveTests.rules, name: "rules.json") }

    private func agent() throws -> RunningAgent {
        let agent = try RunningAgent(["--rules", folder.path, "--unix", folder.path + ".sock", "--state", state])
        try agent.wait { _ in unsafe access(state + "/control.sock", F_OK) == 0 }
        return agent
    }

    @Test("a kill and its end are obeyed before the command ends, and the agent is named")
    func obeyed() async throws {
        let agent = try agent()
        let real = URL(filePath: state).resolvingSymlinksInPath().path
        let name = "confirmed by agent \(agent.process), which runs in \(real) since "
        for target in ["*", "settings", "kiicloud://users/U/buckets/settings"] {
            for command in ["kill", "revive"] {
                let run = await ToolRun(command, target, "--state", state)
                #expect(run.code == .fine && run.errors.isEmpty, "\(run.errors)")
                #expect(run.output.last?.hasPrefix(name) == true, "\(run.output)")
                #expect(!run.output.joined().contains("if the program has"))
            }
        }
        _ = await ToolRun("kill", "settings", "--state", state)
        let list = await ToolRun("kill", "--list", "--state", state)
        #expect(list.code == .fine && list.output.last?.hasPrefix(name) == true)
        #expect(try agent.stop() == 0)
        let after = await ToolRun("kill", "settings", "--state", state)
        #expect(after.code == .nobody)
    }

    @Test("a target that nothing in the agent matches is told, with what there is, and nothing is kept")
    func unknown() async throws {
        let rules = #"""
            {"version":1,"rules":[{"id":"lamp","when":{"bucket":"rooms","scope":"user:U"},"then":{"print":true}},
            {"id":"lost","on":"gap","then":{"print":true}}]}
            """#
        try rules.write(toFile: folder.path, atomically: true, encoding: .utf8)
        let agent = try agent()
        for (target, what) in [
            ("lmap", "unknown route 'lmap'; did you mean 'lamp'?"),
            ("garden", "unknown route 'garden'; known: lamp, lost"),
            (
                "rooms",
                "unknown route 'rooms'; known: lamp, lost; a bucket is named by its URI, such as kiicloud://buckets/rooms"
            ),
            (
                "kiicloud://buckets/rooms",
                "no route takes events of the bucket kiicloud://buckets/rooms; routes: lamp, lost"
            ),
        ] {
            let run = await ToolRun("kill", target, "--state", state)
            #expect(run.code == .failed && run.output.isEmpty, "\(run.output)")
            #expect(
                run.errors.first?.hasSuffix(", has nothing to switch off for that: \(what)") == true, "\(run.errors)")
        }
        #expect(try KillFile(directory: state).read().kills.isEmpty)
        for target in ["lamp", "kiicloud://users/U/buckets/rooms", "*"] {
            let run = await ToolRun("kill", target, "--state", state)
            #expect(run.code == .fine && run.errors.isEmpty, "\(run.errors)")
        }
        #expect(try agent.stop() == 0)
    }

    @Test("an agent that is stopped is there, but neither obeys nor answers, and each command says so")
    func stopped() async throws {
        let agent = try agent()
        let (state, page) = (state, folder.path + ".html")
        let commands = [
            ["kill", "*"], ["status"], ["tap"], ["dead-letters", "list"], ["report", "--watch", "-o", page],
        ]
        kill(agent.process, SIGSTOP)
        await withTaskGroup(of: ToolRun.self) { group in
            for command in commands { group.addTask { await ToolRun(command + ["--state", state]) } }
            for await run in group {
                #expect(run.code == .failed)
                #expect(run.errors.last?.hasSuffix("no server answers: Connection timed out") == true, "\(run.errors)")
            }
        }
        kill(agent.process, SIGCONT)
        #expect(try agent.stop() == 0)
    }

    @Test(
        "an agent that hangs gets a kill at once, unchecked, and confirms or refuses it when it goes on",
        arguments: [("settings", true), ("nothing", false)])
    func unchecked(target: String, isKnown: Bool) async throws {
        let (agent, state) = (try agent(), state)
        kill(agent.process, SIGSTOP)
        async let killing = ToolRun("kill", target, "--state", state)
        let file = KillFile(directory: state)
        try await until { (try? file.read().kills.isEmpty) == false }
        kill(agent.process, SIGCONT)
        let run = await killing
        #expect(run.code == (isKnown ? .fine : .failed), "\(run.errors)")
        #expect(try file.read().kills.isEmpty == !isKnown)
        #expect(try agent.stop() == 0)
    }

    @Test("without a state directory the agent says once that no command reaches it, and warns of nothing")
    func noSwitch() throws {
        let run = try ChildRun(["receive", "--rules", folder.path, "--stdin"])
        #expect(run.code == 0 && !run.errors.contains("<4>"))
        #expect(run.errors.contains("kept in memory only, and no command reaches this agent"), "\(run.errors)")
    }
}
