import KiiPush
import KiiPushDelivery
import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPushAgent

/// What is left out of a log, and that somebody can see that.
struct LineQuotaTests {
    /// Lines of one key and how many seconds pass before each, and what is written.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let pauses: [Int64]
        let written: [String]
    }

    static let cases = [
        Case(testDescription: "few", pauses: [0, 1, 1], written: ["0", "1", "2"]),
        Case(
            testDescription: "a burst, and one later", pauses: [0, 0, 0, 0, 0, 60],
            written: ["0", "1", "2", "left out 2 lines within 60 s: k; r; one bucket, topic or sender", "5"]),
        Case(
            testDescription: "one every 15 seconds", pauses: [0, 15, 15, 15, 15, 15],
            written: ["0", "1", "2", "left out 1 line within 60 s: k; r; one bucket, topic or sender", "4", "5"]),
        Case(testDescription: "one every 20 seconds", pauses: [0, 20, 20, 20], written: ["0", "1", "2", "3"]),
    ]

    @Test("of one key so many lines a minute are written, then one that counts the others", arguments: cases)
    func oneKey(of given: Case) {
        let clock = ManualClock()
        let quota = LineQuota(lines: 3, clock: clock)
        let key = LineQuota.Key("k", "r", DedupeKey(first: 1, second: 2))
        var written: [String] = []
        for (number, pause) in given.pauses.enumerated() {
            clock.advance(by: .seconds(pause))
            written += quota.lines(key) { JournalLine(.information, "\(number)") }.map(\.text)
        }
        #expect(written == given.written)
    }

    @Test("a message of which a line was written gets its last line beyond the quota, once; others do not")
    func ends() {
        let quota = LineQuota(lines: 1, clock: ManualClock())
        func write(_ kind: String, _ part: LineQuota.MessagePart) -> Bool {
            let key = LineQuota.Key(kind, "r", DedupeKey(first: 1, second: 2))
            return !quota.lines(key, of: part) { JournalLine(.information, "x") }.isEmpty
        }
        #expect(write("handled", .end(1)))
        #expect(write("retry", .middle(2)) && !write("retry", .middle(3)))
        quota.began(4)
        #expect(write("handled", .end(2)) && !write("handled", .end(3)) && write("handled", .end(4)))
        #expect(!write("handled", .end(2)))
    }

    @Test("the line that counts is as urgent as those that are left out, and comes at the end too")
    func atTheEnd() {
        let clock = ManualClock()
        let quota = LineQuota(lines: 1, clock: clock)
        let key = LineQuota.Key(kind: "failed", route: "a\u{1B}b")
        for _ in 0..<7 { _ = quota.lines(key, priority: .warning) { JournalLine(.warning, "x") } }
        #expect(quota.leftOut().isEmpty, "its time is not over")
        #expect(
            quota.leftOut(all: true).map(\.description) == ["<4>left out 1 line within 60 s: failed; a\\u001bb"])
        #expect(quota.leftOut(all: true).isEmpty)
    }

    @Test("a flood of one bucket leaves the lines of another, and a flood of one route those of another route")
    func others() async throws {
        let clock = ManualClock()
        let quota = LineQuota(lines: 2, clock: clock)
        let traces = Mutex<[Trace]>([])
        let receiver = PushReceiver(app: "0123abcd", clock: clock)
        receiver.onPushToApp("app") { _, _ in }
        receiver.onPushToUser("user") { _, _ in }
        receiver.onTrace { trace in traces.withLock { $0.append(trace) } }
        func write(_ payload: RawPayload) async -> [String] {
            _ = await receiver.receive(payload)
            return traces.withLock { $0.popLast() }.map { trace in
                quota.lines(LineQuota.Key(trace)) { JournalLine(.information, "line") }.map(\.text)
            } ?? []
        }
        func event(_ number: Int, _ bucket: String) -> RawPayload {
            PayloadFixture.pushToApp(
                bucket: bucket, object: "o\(number)", sentAt: Int64(number), modifiedAt: Int64(number)
            ).payload(.long)
        }
        for number in 0..<5 { #expect(await write(event(number, "noisy")).count == (number < 2 ? 1 : 0)) }
        #expect(await write(event(5, "quiet")) == ["line"])
        // Of a route six times as many as of a bucket.
        for number in 6..<15 { #expect(await write(event(number, "b\(number)")) == ["line"]) }
        for number in 15..<20 { #expect(await write(event(number, "b\(number)")) == []) }
        #expect(await write(PayloadFixture.pushToUser(topic: "t", sentAt: 1).payload(.long)) == ["line"])
        clock.advance(by: .seconds(60))
        #expect(
            Set(quota.leftOut().map(\.text)) == [
                "left out 3 lines within 60 s: handled; app; one bucket, topic or sender",
                "left out 5 lines within 60 s: handled; app",
            ])
    }

    @Test("however many keys there are, memory is bounded and each route has its lines")
    func manyKeys() {
        let quota = LineQuota(lines: 1, clock: ManualClock())
        for number in 0..<5000 {
            let key = LineQuota.Key("k", "r\(number / 5)", DedupeKey(first: UInt64(number), second: 1))
            let isFirst = number % 5 == 0
            let lines = quota.lines(key) { JournalLine(.information, "x") }
            if isFirst { #expect(!lines.isEmpty) }
        }
        #expect(quota.keys < 2500)
    }

    @Test("the code of the comment counts for each receiver that it is used with")
    func documented() async {
        let receiver = PushReceiver()
        let quota = LineQuota()
        receiver.onTrace { trace in
            for line in quota.lines(LineQuota.Key(trace), { JournalLine(trace) }) { print(line) }
        }
        #expect(await receiver.receive(PayloadFixture.pushToApp().payload(.long)).name == "unrouted")
        #expect(quota.keys == 2)
    }

    @Test("each event of a service is of one kind, with the route or the transport that it names")
    func events() {
        let cases: [(ServiceEvent, String, String)] = [
            (.retry(messageID: 1, route: "r", attempt: 1, pause: .zero, cause: "E"), "retry", "r"),
            (.overrun(messageID: 1, route: "r", isLeft: false), "overrun", "r"),
            (.overrun(messageID: 1, route: "r", isLeft: true), "handler left", "r"),
            (.storeFailed("x"), "store failed", ""), (.notDurable("x"), "not durable", ""),
            (.transport("t", .connected("x")), "connected", "t"),
            (.transport("t", .disconnected("x", retryIn: .zero)), "disconnected", "t"),
            (.transport("t", .refused("x", retryIn: .zero)), "refused", "t"),
            (.transport("t", .possibleGap("x")), "messages may be lost", "t"),
            (.transport("t", .ignored("x")), "ignored", "t"),
        ]
        for (event, kind, route) in cases {
            let key = LineQuota.Key(event)
            #expect(key.kind == kind && key.route == route)
        }
    }
}
