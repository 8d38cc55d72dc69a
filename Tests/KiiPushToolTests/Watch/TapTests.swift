import Foundation
import Glibc
import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import kiipush
@testable import KiiPushAgent
@testable import KiiPushTestSupport

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
    }

    @Test("a stalled reader slows nobody down, and is told what it has missed")
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

@Suite("what is kept for those who watch messages pass")
struct TapBoardTests {
    private let board = TapBoard()
    private let clock = ManualClock()

    private func receiver() -> PushReceiver {
        let receiver = PushReceiver(clock: clock)
        receiver.onPushToApp(id: "settings", bucket: "settings") { [clock] _, _ in clock.advance(by: .milliseconds(2)) }
        receiver.onPushToUser(id: "news") { _, _ in throw TestFailure(what: "news", code: 1) }
        receiver.onTrace { [board] in board.offer($0) }
        return receiver
    }

    private static let event = PayloadFixture.pushToApp(bucket: "settings").payload(.long)
    private static let other = PayloadFixture.pushToApp(bucket: "other").payload(.long)
    private static let news = PayloadFixture.pushToUser(topic: "t").payload(.long)

    @Test(
        "a reader gets what its filters take, and nothing else",
        arguments: [
            ([], ["handled", "duplicate", "unrouted", "failed", "undecodable"]),
            (["--route", "settings"], ["handled", "duplicate"]), (["--route", "setting"], []),
            (["--outcome", "undecodable"], ["undecodable"]), (["--kind", "pushToUser"], ["failed"]),
            (["--bucket", "other"], ["unrouted"]), (["--bucket", "settings", "--outcome", "handled"], ["handled"]),
        ])
    func filters(arguments: [String], outcomes: [String]) async throws {
        let options = try #require(try TapOptions.read(arguments))
        let reader = try #require(try board.add(options))
        let receiver = receiver()
        for payload in [Self.event, Self.event, Self.other, Self.news, RawPayload("nonsense")] {
            _ = await receiver.receive(payload)
        }
        let taken = reader.take()
        #expect(taken.messages.map(\.trace.outcome.name) == outcomes)
        #expect(taken.leftOut == 0 && !taken.isOver)
        let again = reader.take()
        #expect(again.messages.isEmpty)
    }

    @Test("what comes faster than it is read is left out beyond a bound, and counted")
    func slow() async throws {
        let reader = try #require(try board.add(TapOptions()))
        let receiver = receiver()
        for _ in 0..<300 { _ = await receiver.receive(RawPayload("nonsense")) }
        let taken = reader.take()
        #expect(taken.messages.count == 256 && taken.leftOut == 44)
        _ = await receiver.receive(RawPayload("nonsense"))
        let next = reader.take()
        #expect(next.messages.count == 1 && next.leftOut == 0)
    }

    @Test("nobody may watch an agent that has ended")
    func ended() throws {
        board.end()
        #expect(try board.add(TapOptions()) == nil)
    }

    @Test("payloads that wait for a reader have a bound in bytes")
    func large() async throws {
        let reader = try #require(try board.add(TapOptions()))
        let receiver = receiver()
        let size = 60_000
        for number in 0..<30 {
            let text = String(repeating: "x", count: size)
            _ = await receiver.receive(RawPayload(#"{"bucketID":"b","n":"\#(text)\#(number)"}"#))
        }
        let taken = reader.take()
        let bytes = taken.messages.reduce(0) { $0 + ($1.trace.message?.raw.bytes.count ?? 0) }
        #expect(bytes <= TapReader.mostBytes && bytes > TapReader.mostBytes - 2 * size)
        #expect(taken.messages.count + taken.leftOut == 30)
    }

    @Test("a line says how a message ended, how long it waited and took, and why it was dropped; no text ends a line")
    func lines() async throws {
        let reader = try #require(try board.add(TapOptions()))
        let receiver = receiver()
        let payload = Self.event.arrived(at: clock.now)
        clock.advance(by: .milliseconds(30))
        for payload in [payload, payload, Self.news, RawPayload("no\nnse")] { _ = await receiver.receive(payload) }
        let messages = reader.take().messages
        let texts = messages.map { $0.line(.text, app: nil) }
        #expect(texts[0].contains(" handled               settings     bucket settings/"), "\(texts[0])")
        #expect(texts[0].hasSuffix("; waited 30 ms; took 2.0 ms"), "\(texts[0])")
        #expect(texts[1].contains("duplicate (done)") && texts[1].hasSuffix("drop: duplicate (done)"), "\(texts[1])")
        #expect(texts[2].hasSuffix("handle news: threw TestFailure"), "\(texts[2])")
        #expect(texts[3].contains("no push message") && texts[3].contains("decode: "), "\(texts[3])")
        let json = messages.map { $0.line(.json, app: nil) }
        for (line, part) in zip(
            json,
            [
                #""outcome":"handled","reason":null,"why":null,"deadLetter":null,"route":"settings","routes":["settings"],"#,
                #""outcome":"duplicate","reason":"done","why":"#, #""outcome":"failed","reason":"news","why":"#,
                #""outcome":"undecodable","reason":"unexpectedCharacter","why":"#,
            ])
        {
            #expect(line.contains(part), "\(line)")
            #expect(!line.contains("\n") && (try? PlacedValue(Array(line.utf8), limits: .standard)) != nil)
        }
        #expect(json[0].hasPrefix(#"{"source":"mqtt","kind":"pushToApp""#))
    }
}
