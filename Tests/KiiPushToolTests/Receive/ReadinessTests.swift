import Foundation
import Glibc
import Testing

@testable import kiipush
@testable import KiiPushAgent
@testable import KiiPushSystem
@testable import KiiPushTestSupport

@Suite("what an agent says of itself at its start", .timeLimit(.minutes(5)))
struct ReadinessTests {
    @Test("an agent is ready to its manager only when clients can connect")
    func ready() throws {
        let rules = try TemporaryFile(ReceiveTests.rules, name: "rules.json")
        let socket = rules.path + ".sock"
        let manager = try DatagramSocket(path: rules.path + ".n")
        let agent = try RunningAgent(
            ["--rules", rules.path, "--unix", socket], variables: ["NOTIFY_SOCKET=\(rules.path).n"]
        ) { _ in
            guard manager.next == "READY=1" else { return false }
            #expect(throws: Never.self) { try SocketPeer(socket) }
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

    @Test("rules that every user can change are told at the start, and each time that they are loaded")
    func exposedRules() throws {
        let rules = try TemporaryFile(ReceiveTests.rules, name: "rules.json")
        #expect(unsafe chmod(rules.path, 0o602) == 0)
        let agent = try RunningAgent(["--rules", rules.path, "--unix", rules.path + ".sock"])
        let line = "<4>kiipush: \(resolved(rules.path)): every user (mode 0602) can change the rules"
        func told() -> Int { agent.log.split(separator: "\n").count { $0.hasPrefix(line) } }
        #expect(told() == 1, "\(agent.log)")
        for (generation, mode, times) in [(2, 0o602, 2), (3, 0o600, 2)] as [(Int, mode_t, Int)] {
            #expect(unsafe chmod(rules.path, mode) == 0)
            let text = ReceiveTests.rules + String(repeating: " ", count: generation)
            try text.write(toFile: rules.path, atomically: false, encoding: .utf8)
            kill(agent.process, SIGHUP)
            try agent.wait { $0.log.contains("generation \(generation)\n") }
            #expect(told() == times, "\(agent.log)")
        }
        #expect(try agent.stop() == 0)
    }

    @Test(
        "output that cannot be written is told, and is a failure",
        arguments: [
            ["--version"], ["version"], ["help"], ["rules", "schema"], ["completions", "bash"],
            ["rules", "lint", "--help"],
        ])
    func fullDisk(arguments: [String]) throws {
        let errors = try TemporaryFile("", name: "errors")
        let process = try spawn([try toolPath()] + arguments, output: "/dev/full", errors: errors.path)
        var status: Int32 = 0
        #expect(unsafe waitpid(process, &status, 0) == process)
        #expect(exitCode(of: status) == 1)
        #expect(try errors.contents() == "kiipush: standard output cannot be written: No space left on device\n")
    }

    @Test("closed standard descriptors are told as closed, and no other file gets their numbers")
    func closed() throws {
        let rules = try TemporaryFile(ReceiveTests.rules, name: "rules.json")
        let errors = try TemporaryFile("", name: "errors")
        let words = ["/bin/sh", "-c", #"exec "$0" "$@" <&- >&-"#, try toolPath(), "receive", "--rules", rules.path]
        let process = try spawn(words + ["--stdin"], output: "/dev/null", errors: errors.path)
        var status: Int32 = 0
        #expect(unsafe waitpid(process, &status, 0) == process)
        #expect(exitCode(of: status) == 1)
        #expect(try errors.contents().contains("stdin: cannot be read: Bad file descriptor"))
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
    func hasOpen(_ path: String) -> Bool {
        let folder = "/proc/\(process)/fd"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.contains { name in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
            return target.map { URL(filePath: $0).lastPathComponent == URL(filePath: path).lastPathComponent } ?? false
        }
    }
}

@Suite("what an agent logs, and one whose log nobody reads", .timeLimit(.minutes(5)))
struct LogOfAgentTests {
    private static let rules = """
        {"version":1,"rules":[{"id":"all","when":{"bucket":"settings"},"then":{"print":true},"pace":"unlimited"}]}
        """

    #if SQLite
    @Test("after a crash, the lines of a message give the attempt")
    func attemptAfterCrash() throws {
        let mark = try TemporaryFile("", name: "mark")
        let script = "mkdir \(mark.path).d 2>/dev/null && exec sleep 1000; echo again"
        let rules = try TemporaryFile(
            #"{"version":1,"rules":[{"id":"all","then":{"run":["/bin/sh","-c","\#(script)"]}}]}"#, name: "rules.json")
        let arguments = ["--rules", rules.path, "--unix", rules.path + ".sock", "--state", rules.path + ".state"]
        let first = try RunningAgent(arguments)
        let answer = try SocketPeer(rules.path + ".sock", within: .seconds(60)).ask(
            #"{"bucketID":"b","objectScopeType":"APP","objectID":"o","when":1}"#)
        #expect(answer?.contains("stored") == true)
        try first.wait { _ in unsafe access(mark.path + ".d", F_OK) == 0 }
        #expect(try first.stop(SIGKILL) == 256 + SIGKILL)
        let second = try RunningAgent(arguments) { $0.log.contains(": handled") }
        #expect(second.log.contains(": attempt 2: sh: again\n"), "\(second.log)")
        #expect(second.log.contains(": handled; attempt 2; route all"), "\(second.log)")
        #expect(try second.stop() == 0)
    }
    #endif

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
        let process = try spawn(
            [try toolPath(), "receive", "--rules", rules.path, "--stdin"], input: input, output: output.path,
            errors: errors)
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
