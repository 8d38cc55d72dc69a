import Foundation
import Glibc
import Testing

@testable import kiipush
@testable import KiiPushAgent
@testable import KiiPushSystem

@Suite("what an agent says of itself at its start", .timeLimit(.minutes(5)))
struct ReadinessTests {
    @Test("an agent is ready to its manager only when clients can connect")
    func ready() throws {
        let rules = try TemporaryFile(ReceiveTests.rules, name: "rules.json")
        let socket = rules.path + ".sock"
        let manager = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(manager) }
        let address = try #require(UnixAddress(path: rules.path + ".n"))
        try #require(unsafe address.withPointer { unsafe bind(manager, $0, $1) } == 0)
        let agent = try RunningAgent(
            ["--rules", rules.path, "--unix", socket], variables: ["NOTIFY_SOCKET=\(rules.path).n"]
        ) { _ in
            var bytes = [UInt8](repeating: 0, count: 1000)
            let count = unsafe recv(manager, &bytes, bytes.count, Int32(MSG_DONTWAIT))
            guard String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self) == "READY=1" else { return false }
            #expect(FileStamp(socket) != FileStamp(rules.path + ".none"))
            let client = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            defer { close(client) }
            let place = UnixAddress(path: socket)
            #expect(unsafe place?.withPointer { unsafe connect(client, $0, $1) } == 0)
            return true
        }
        #expect(try agent.stop() == 0)
    }

    @Test("programs that cannot be started are told at the start, and by lint as warnings")
    func programs() async throws {
        let script = try TemporaryFile("#!/bin/sh\r\n", name: "script")
        #expect(unsafe chmod(script.path, 0o700) == 0)
        let rules = try TemporaryFile(
            """
            {"version":1,"rules":[{"id":"a","when":{"bucket":"a"},"then":{"run":["/bin/sh"]}},
            {"id":"b","when":{"bucket":"b"},"then":{"run":["no-such-program"]}},
            {"id":"c","when":{"bucket":"c"},"then":{"run":["\(script.path)"]}}]}
            """, name: "rules.json")
        let agent = try RunningAgent(["--rules", rules.path, "--unix", rules.path + ".sock"])
        #expect(try agent.stop() == 0)
        let missing = "the rule 'b' cannot run its program: no-such-program: not found on PATH"
        let unusable = "the rule 'c' cannot run its program: \(script.path): its first line ends with CR LF"
        #expect(agent.log.contains("<4>kiipush: \(rules.path):2:47: \(missing)\n"), "\(agent.log)")
        #expect(agent.log.contains(unusable) && !agent.log.contains("the rule 'a'"))
        let lint = await ToolRun("rules", "lint", rules.path)
        #expect(lint.code == .fine)
        #expect(lint.errors.first == "\(rules.path):2:47: warning: \(missing) [unusableProgram]")
        #expect(lint.errors.count == 2 && lint.errors.last?.contains(unusable) == true, "\(lint.errors)")
        #expect(await ToolRun("rules", "lint", "--strict", rules.path).code == .failed)
    }

    @Test(
        "output that cannot be written is told, and is a failure",
        arguments: [
            ["--version"], ["help"], ["rules", "schema"], ["completions", "bash"], ["rules", "lint", "--help"],
        ])
    func fullDisk(arguments: [String]) throws {
        let errors = try TemporaryFile("", name: "errors")
        let process = try ChildRun.start(arguments, input: "/dev/null", output: "/dev/full", errors: errors.path)
        var status: Int32 = 0
        #expect(unsafe waitpid(process, &status, 0) == process)
        #expect(status >> 8 == 1)
        #expect(try errors.contents() == "kiipush: standard output cannot be written: No space left on device\n")
    }

    /// What a program that was just being started when its agent was killed keeps of it, for a moment.
    @Test("a lock whose owner lets go within two seconds is waited for, one whose owner does not is told of")
    func lock() throws {
        let rules = try TemporaryFile(ReceiveTests.rules, name: "rules.json")
        let state = rules.directory + "/state"
        try StateDirectory.make(state)
        let path = "\(state)/agent.lock"
        let lock = try FileLock(path, limit: .zero)
        let agent = try RunningAgent(["--rules", rules.path, "--unix", rules.path + ".sock", "--state", state]) {
            $0.hasOpen(path)
        }
        #expect(!agent.log.contains("ready"))
        lock.unlock()
        try agent.wait { $0.log.contains("ready") }
        let second = try ChildRun(["receive", "--rules", rules.path, "--stdin", "--state", state])
        #expect(second.code == 1 && second.errors == "kiipush receive: an agent already runs on \(state)\n")
        #expect(try agent.stop() == 0)
    }
}

extension RunningAgent {
    /// Whether the process has a file open.
    func hasOpen(_ path: String) -> Bool {
        let folder = "/proc/\(process)/fd"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.contains { name in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
            return target.map { URL(filePath: $0).lastPathComponent == URL(filePath: path).lastPathComponent } ?? false
        }
    }
}
