import KiiPush
import KiiPushDelivery
import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPushAgent
@testable import KiiPushSystem

@Suite("a log whose reader is slow or gone", .timeLimit(.minutes(5)))
struct LogWriterTests {
    /// A reader that can be held up, and that can be gone.
    private final class Reader: Sendable {
        private let state = Mutex<(lines: [String], isGone: Bool)>(([], false))
        private let gate = ThreadSemaphore()
        let arrived = ThreadSemaphore()

        var lines: [String] { state.withLock { $0.lines } }

        func read(_ line: String) -> Bool {
            arrived.raise()
            while !gate.wait(for: .seconds(20)) {}
            gate.raise()
            return state.withLock { state in
                if !state.isGone { state.lines.append(line) }
                return !state.isGone
            }
        }

        func open() { gate.raise() }
        func go(away isGone: Bool) { state.withLock { $0.isGone = isGone } }
    }

    @Test("lines come in their order, and the end waits for them")
    func order() {
        let reader = Reader()
        reader.open()
        let writer = LogWriter { reader.read($0.description) }
        let lines = (0..<500).map { "line \($0)" }
        for line in lines { writer.add(JournalLine(asItIs: line)) }
        let isDone = writer.finish(within: .seconds(20))
        #expect(isDone && reader.lines == lines && writer.dropped == 0)
    }

    @Test("never blocks on a slow reader, and reports dropped lines in their place")
    func blocked() {
        let reader = Reader()
        let changes = Mutex<[String]>([])
        let shortages = Shortages { change in changes.withLock { $0.append("\(change)") } }
        let writer = LogWriter(shortages: shortages) { reader.read($0.description) }
        for number in 0..<LogWriter.mostLines + 7 { writer.add(JournalLine(asItIs: "line \(number)")) }
        #expect(writer.dropped == 7 && shortages.isShort(of: .log))
        #expect(!writer.finish(within: .milliseconds(20)))
        reader.open()
        while changes.withLock({ $0.count }) < 2 {}
        #expect(reader.lines.prefix(LogWriter.mostLines).last == "line \(LogWriter.mostLines - 1)")
        #expect(reader.lines.last == "<4>kiipush: 7 lines were dropped here, since nobody read the log")
        #expect(!shortages.isShort(of: .log))
    }

    @Test("the queue is bounded in bytes")
    func bytes() {
        let reader = Reader()
        let writer = LogWriter { reader.read($0.description) }
        let line = String(repeating: "x", count: 64 << 10)
        for _ in 0..<10 { writer.add(JournalLine(asItIs: line)) }
        #expect(writer.dropped == 6)
        reader.open()
    }

    @Test("reports dropped lines when the reader returns")
    func gone() {
        let reader = Reader()
        reader.open()
        reader.go(away: true)
        let writer = LogWriter { reader.read($0.description) }
        for number in 0..<3 {
            writer.add(JournalLine(asItIs: "lost \(number)"))
            while writer.dropped <= number {}
        }
        reader.go(away: false)
        writer.add(JournalLine(asItIs: "kept"))
        let isDone = writer.finish(within: .seconds(20))
        #expect(isDone)
        #expect(reader.lines == ["<4>kiipush: 3 lines were dropped here, since nobody read the log", "kept"])
    }
}

/// What is left out of a log, and that somebody can see that.
struct LineQuotaTests {
    @Test("of each kind and route so many lines a minute are written, then one that counts the others")
    func counts() {
        let clock = ManualClock()
        let quota = LineQuota(lines: 3, clock: clock)
        let key = LineQuota.Key(kind: "handled", route: "a\u{1B}b")
        func written() -> Int { (0..<5).count { _ in quota.takes(key, .warning) } }
        #expect(written() == 3)
        #expect(quota.takes(LineQuota.Key(kind: "handled", route: "b"), .information))
        #expect(quota.takes(LineQuota.Key(kind: "failed", route: key.route), .information))
        clock.advance(by: .seconds(59))
        #expect(quota.leftOut().isEmpty, "its minute is not over")
        clock.advance(by: .seconds(1))
        #expect(quota.leftOut().map(\.description) == ["<4>left out 2 lines within 60 s: handled; a\\u001bb"])
        #expect(quota.leftOut().isEmpty)
        #expect(written() == 3)
        #expect(quota.leftOut(all: true).count == 1, "at the end, all are counted")
    }

    @Test("the line of an outcome is counted for its first route")
    func outcomes() async {
        let keys = Mutex<[LineQuota.Key]>([])
        let receiver = PushReceiver(app: "0123abcd", clock: ManualClock())
        receiver.onPushToApp("app") { _, _ in }
        receiver.onTrace { trace in keys.withLock { $0.append(LineQuota.Key(trace)) } }
        _ = await receiver.receive(PayloadFixture.pushToApp().payload(.long))
        _ = await receiver.receive(PayloadFixture.pushToUser().payload(.long))
        #expect(
            keys.withLock { $0 } == [LineQuota.Key(kind: "handled", route: "app"), LineQuota.Key(kind: "unrouted")])
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
