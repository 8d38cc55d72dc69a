import Foundation
import Glibc
import KiiPush
import Testing

@testable import KiiPushAgent
@testable import kiipush

@Suite("kiipush tap, and the agent that it watches", .timeLimit(.minutes(5)))
struct TapTests {
    private let folder: TemporaryFile
    private var state: String { folder.directory + "/state" }

    init() throws { folder = try TemporaryFile(ReceiveTests.rules, name: "rules.json") }

    private func event(_ number: Int) -> String {
        #"{"bucketID":"settings","objectScopeType":"APP","objectID":"o\#(number)","when":\#(number)}"#
    }

    /// A tap as a process of its own, which prints into a file.
    private func tap(_ arguments: String...) throws -> RunningAgent {
        try RunningAgent(command: ["tap", "--state", state] + arguments)
    }

    /// Sends messages until a tap has printed something: it watches from some moment on.
    private func start(_ tap: RunningAgent, _ run: WatchedRun) throws {
        var number = 1000
        try tap.wait { tap in
            try? run.send(event(number))
            number += 1
            _ = poll(nil, 0, 20)
            return !tap.output.isEmpty
        }
    }

    @Test("it survives a reload, and says that the agent has ended when it does")
    func reload() async throws {
        let run = try WatchedRun(folder.path, state)
        let tap = try tap("--format", "json")
        try start(tap, run)
        let rules = ReceiveTests.rules.replacingOccurrences(of: #""id":"settings""#, with: #""id":"renamed""#)
        try rules.write(toFile: folder.path, atomically: true, encoding: .utf8)
        try run.agent.wait { $0.log.contains("generation 2") }
        try run.send(event(1))
        try tap.wait { $0.output.contains(#""route":"renamed""#) }
        #expect(try run.agent.stop() == 0)
        #expect(try tap.end() == 0)
        #expect(tap.log == "kiipush tap: the agent has ended\n")
        for line in tap.output.split(separator: "\n") { #expect(line.hasPrefix("{") && line.hasSuffix("}"), "\(line)") }
    }

    @Test("a route that no rule has is told, with those that there are")
    func unknownRoute() throws {
        let run = try WatchedRun(folder.path, state)
        let tap = try tap("--route", "setings")
        try tap.wait { $0.log.contains("\n") }
        #expect(
            tap.log
                == "kiipush tap: unknown route 'setings'; did you mean 'settings'?; waiting until the rules have one of "
                + "that name\n")
        #expect(try run.agent.stop() == 0)
    }

    @Test("a line is broken between words for a terminal, and none is longer than it is wide")
    func folded() {
        let line = "12:00:00.000 handled               settings     bucket settings/o-1; waited 0.1 ms; took 0.2 ms"
        #expect(
            Figures.folded(line, 80) == [
                "12:00:00.000 handled               settings     bucket settings/o-1; waited 0.1",
                "    ms; took 0.2 ms",
            ])
        #expect(Figures.folded(line, 200) == [line])
        #expect(Figures.folded(String(repeating: "x", count: 100), 80).map(\.count) == [80, 24])
    }

    @Test("it ends after a count, on a pipe that is closed, and when the agent is killed")
    func ends() async throws {
        let run = try WatchedRun(folder.path, state)
        let counted = try tap("--count", "1")
        try start(counted, run)
        #expect(try counted.end() == 0)
        #expect(counted.output.split(separator: "\n").count == 1 && counted.log.isEmpty)

        // The reader leaves, and nothing more passes: it ends all the same.
        let pipe = state + ".pipe"
        #expect(unsafe mkfifo(pipe, 0o600) == 0)
        let reading = unsafe open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        let piped = try RunningAgent(command: ["tap", "--state", state], output: pipe)
        close(reading)
        #expect(try piped.end() == 0)

        let left = try tap()
        try start(left, run)
        #expect(try run.agent.stop(SIGKILL) == 256 + SIGKILL)
        #expect(try left.end() == 1)
        #expect(left.log == "kiipush tap: the agent closed the connection without an answer\n")
        let alone = await ToolRun("tap", "--state", state)
        #expect(
            alone.code == .nobody
                && alone.errors == ["kiipush tap: no agent runs on \(state); --state names another directory"])
    }

    @Test("a reader that stands still slows nobody down, and is told what it has missed")
    func slow() async throws {
        let run = try WatchedRun(folder.path, state)
        let tap = try tap("--format", "json", "--outcome", "unrouted")
        let other = #"{"bucketID":"other","objectScopeType":"APP","data":"\#(String(repeating: "x", count: 400))"}"#
        try tap.wait { tap in
            try? run.send(other)
            _ = poll(nil, 0, 20)
            return !tap.output.isEmpty
        }
        kill(tap.process, SIGSTOP)
        // More than sockets and queue hold; each is another message.
        for number in 0..<3000 { try run.send(other.replacingOccurrences(of: "APP\"", with: "APP\",\"n\":\(number)")) }
        try run.send(event(1))
        try run.agent.wait { !$0.output.isEmpty }
        kill(tap.process, SIGCONT)
        try tap.wait { $0.output.contains(#"{"leftOut":"#) }
        #expect(try run.agent.stop() == 0)
        #expect(try tap.end() == 0)
        let lines = tap.output.split(separator: "\n")
        let leftOut = lines.compactMap { line in
            line.hasPrefix(#"{"leftOut":"#) ? Int(line.dropFirst(11).dropLast()) : nil
        }.reduce(0, +)
        #expect(leftOut > 0 && lines.count < 3000)
    }

    @Test("no more than a few may watch, and the others are told; one that leaves makes room")
    func readers() async throws {
        let run = try WatchedRun(folder.path, state)
        var taps: [RunningAgent] = []
        for _ in 0..<TapBoard.mostReaders {
            let tap = try tap()
            try start(tap, run)
            taps.append(tap)
        }
        let fifth = await ToolRun("tap", "--state", state)
        #expect(fifth.code == .failed)
        #expect(fifth.errors.first?.contains("4 clients are watching already") == true, "\(fifth.errors)")
        // All other commands are answered all the same.
        #expect(await ToolRun("status", "--state", state).code == .fine)
        #expect(try taps.removeFirst().stop(SIGINT) == 256 + SIGINT)
        try run.agent.wait { _ in
            guard let next = try? tap("--count", "1") else { return false }
            // It ends with its message, or at once if the place is not free yet.
            var number = 2000
            try? next.wait { next in
                try? run.send(event(number))
                number += 1
                _ = poll(nil, 0, 20)
                return !next.output.isEmpty || !next.log.isEmpty
            }
            return (try? next.end()) == 0
        }
        for tap in taps { #expect(try tap.stop(SIGINT) == 256 + SIGINT) }
        #expect(try run.agent.stop() == 0)
    }
}

struct TapOutcomeTests {
    @Test("the outcomes that can be asked for are all there are")
    func outcomes() throws {
        let known = Set(PushReceiver().metrics.outcomes.map(\.outcome))
        #expect(known.symmetricDifference(TapOptions.outcomes) == [])
    }
}
