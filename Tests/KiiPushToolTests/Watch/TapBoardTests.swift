import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushAgent
@testable import kiipush

@Suite("what is kept for those who watch messages pass")
struct TapBoardTests {
    private let board = TapBoard()
    private let clock = ManualClock()

    /// A receiver that shows what ends to the board.
    private func receiver() -> PushReceiver {
        let receiver = PushReceiver(clock: clock)
        receiver.onPushToApp("settings", bucket: "settings") { [clock] _, _ in clock.advance(by: .milliseconds(2)) }
        receiver.onPushToUser("news") { _, _ in throw ChildRun.Failure(what: "news", code: 1) }
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

    @Test("a few may watch at once, each is let go, and none comes when the agent has ended")
    func bounded() async throws {
        var readers: [TapReader] = []
        for _ in 0..<TapBoard.mostReaders { readers.append(try #require(try board.add(TapOptions()))) }
        #expect(try board.add(TapOptions()) == nil)
        board.remove(readers.removeLast())
        readers.append(try #require(try board.add(TapOptions())))
        for reader in readers { board.remove(reader) }
        #expect(board.count == 0)
        board.end()
        #expect(try board.add(TapOptions()) == nil)
    }

    @Test("a reader with a count is over when it has as many, and takes no more")
    func counted() async throws {
        let options = try #require(try TapOptions.read(["--count", "2"]))
        let reader = try #require(try board.add(options))
        let receiver = receiver()
        for _ in 0..<3 { _ = await receiver.receive(RawPayload("nonsense")) }
        let taken = reader.take()
        #expect(taken.messages.count == 2 && taken.isOver && !reader.hasAgentEnded)
    }

    @Test("a line says how a message ended, how long it waited and took, and why it was dropped; no text ends a line")
    func lines() async throws {
        let reader = try #require(try board.add(TapOptions()))
        let receiver = receiver()
        var payload = Self.event
        payload.arrivedAt = clock.now
        clock.advance(by: .milliseconds(30))
        for payload in [payload, payload, Self.news, RawPayload("no\nnse")] { _ = await receiver.receive(payload) }
        let messages = reader.take().messages
        let texts = messages.map { $0.line(.text, app: nil) }
        #expect(texts[0].contains(" handled               settings     bucket settings/"), "\(texts[0])")
        #expect(texts[0].hasSuffix("; waited 30 ms; took 2.0 ms"), "\(texts[0])")
        #expect(texts[1].contains("duplicate (done)") && texts[1].hasSuffix("drop: duplicate (done)"), "\(texts[1])")
        #expect(texts[2].hasSuffix("handle news: threw Failure"), "\(texts[2])")
        #expect(texts[3].contains("no push message") && texts[3].contains("decode: "), "\(texts[3])")
        let json = messages.map { $0.line(.json, app: nil) }
        for (line, part) in zip(
            json,
            [
                #""outcome":"handled","reason":null,"why":null,"route":"settings","routes":["settings"],"waited":30.0,"took":2.0}"#,
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
