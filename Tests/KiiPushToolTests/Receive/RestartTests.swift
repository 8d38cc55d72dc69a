import Foundation
import Glibc
import Testing

@testable import KiiPushAgent
@testable import KiiPushSystem
@testable import kiipush

@Suite("an agent that is started while somebody has its lock", .timeLimit(.minutes(5)))
struct RestartTests {
    /// What a program that was just being started when its agent was killed keeps of it, for a moment.
    @Test("one that lets go within two seconds is waited for, one that does not is told of")
    func lock() throws {
        let rules = try TemporaryFile(ReceiveTests.rules, name: "rules.json")
        let state = URL(filePath: rules.path).deletingLastPathComponent().path + "/state"
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
