import Glibc
import KiiPushSystem
import Testing

@testable import kiipush

@Suite("programs of an agent that is killed", .timeLimit(.minutes(5)))
struct OrphanTests {
    @Test("a program and what it has started end with the agent, also by SIGKILL")
    func killed() throws {
        let pids = try TemporaryFile("", name: "pids")
        // What a program reads comes after the agent has named its group to the guardian.
        let script = "cat > /dev/null; echo $$ >> \(pids.path); sleep 1000 & echo $! >> \(pids.path); wait"
        let rules = try TemporaryFile(
            #"{"version":1,"rules":[{"id":"all","then":{"run":["/bin/sh","-c","\#(script)"]}}]}"#, name: "rules.json")
        let run = try WatchedRun(rules.path)
        let lines = ReceiveTests.lines.split(separator: "\n").map { String($0) }
        for line in lines.suffix(2) { try run.send(line) }
        func processes() -> [pid_t] { ((try? pids.contents()) ?? "").split(separator: "\n").compactMap { pid_t($0) } }
        try run.agent.wait { _ in processes().count == 4 }
        // Without the shell that guards them, the next program brings another one.
        let shells = try Self.children(of: run.agent.process).filter { !processes().contains($0) }
        #expect(shells.count == 1)
        for shell in shells { #expect(kill(shell, SIGKILL) == 0) }
        try run.send(lines[0])
        try run.agent.wait { _ in processes().count == 6 }
        #expect(try run.agent.stop(SIGKILL) == 256 + SIGKILL)
        try run.agent.wait { _ in processes().allSatisfy { Self.isOver($0) } }
    }

    private static func children(of process: pid_t) throws -> [pid_t] {
        try #require(StateDirectory.names(in: "/proc/\(process)/task")).flatMap { thread in
            let bytes = try ByteReader(regularFile: "/proc/\(process)/task/\(thread)/children").readAll(limit: 4096)
            return String(decoding: bytes, as: UTF8.self).split(separator: " ").compactMap { pid_t($0) }
        }
    }

    /// Whether a process is gone, or waits for nothing but its parent.
    private static func isOver(_ process: pid_t) -> Bool {
        let file = unsafe open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return true }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = unsafe read(file, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self).contains(") Z ")
    }
}
