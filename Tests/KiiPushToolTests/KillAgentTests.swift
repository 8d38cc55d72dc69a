import Foundation
import Glibc
import KiiPush
import Testing

@testable import KiiPushLinux
@testable import kiipush

@Suite("kiipush kill and the agent that is to obey", .timeLimit(.minutes(1)))
struct KillAgentTests {
    private let folder: TemporaryFile
    private let state: String

    init() throws {
        folder = try TemporaryFile(ReceiveTests.rules, name: "rules.json")
        state = URL(filePath: folder.path).deletingLastPathComponent().path + "/state"
    }

    /// An agent to which nothing is sent.
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
        for target in ["*", "settings", "kiicloud://users/U/buckets/b"] {
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

    @Test("a route that the agent does not have is told, since nothing is off there")
    func unknownRoute() async throws {
        let agent = try agent()
        let run = await ToolRun("kill", "setings", "--state", state)
        #expect(run.code == .failed)
        #expect(run.errors.first?.hasSuffix(", has no such route, so nothing is off there") == true)
        #expect(try agent.stop() == 0)
    }

    @Test("an agent that does not answer is told, and is no agent that obeys")
    func stopped() async throws {
        let agent = try agent()
        kill(agent.process, SIGSTOP)
        let run = await ToolRun("kill", "*", "--state", state)
        kill(agent.process, SIGCONT)
        #expect(run.code == .failed)
        #expect(
            run.errors.first?.hasPrefix("kiipush kill: an agent runs in \(state), but did not confirm") == true)
        #expect(try agent.stop() == 0)
    }

    @Test("without a state directory the agent's first line says that it has no switch", arguments: [[], ["--quiet"]])
    func noSwitch(options: [String]) throws {
        let run = try ChildRun(["receive", "--rules", folder.path, "--stdin"] + options)
        #expect(run.code == 0)
        #expect(run.errors.hasPrefix("<4>kiipush: no kill switch: "), "\(run.errors)")
    }

    @Test("who an agent is survives its way as JSON, whatever the directory is called")
    func identity() throws {
        var identity = AgentIdentity(directory: "/nowhere/\"a\nb")
        #expect(AgentIdentity(json: identity.json) == identity)
        identity.killed = ["*", "kiicloud://buckets/b"]
        identity.isKnown = false
        #expect(AgentIdentity(json: identity.json) == identity)
        for text in ["", "{}", "[]", "no agent"] { #expect(AgentIdentity(json: text) == nil) }
    }
}
