import Glibc
import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushAgent
@testable import KiiPushDelivery
@testable import KiiPushSystem
@testable import KiiPushTestSupport

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

    @Test("a burst of a program's lines loses none while the log is read")
    func burst() {
        let reader = Reader()
        let writer = LogWriter(patience: .seconds(20)) { reader.read($0.description) }
        reader.open()
        let lines = (0..<9000).map { "line \($0)" }
        for line in lines { writer.add(patiently: JournalLine(asItIs: line)) }
        let isDone = writer.finish(within: .seconds(20))
        #expect(isDone && reader.lines == lines && writer.dropped == 0)
    }

    @Test("a burst into a log that nobody reads waits once, and leaves half of the queue to other lines")
    func burstUnread() {
        let reader = Reader()
        let writer = LogWriter(patience: .milliseconds(1)) { reader.read($0.description) }
        let half = LogWriter.mostLines / 2
        for number in 0..<half * 2 {
            writer.add(patiently: JournalLine(asItIs: "burst \(number)"))
            // The thread has taken this line alone; all others wait.
            if number == 0 { #expect(reader.arrived.wait(for: .seconds(20))) }
        }
        for number in 0..<half { writer.add(JournalLine(asItIs: "line \(number)")) }
        #expect(writer.dropped == half)
        reader.open()
        #expect(writer.finish(within: .seconds(20)))
        let told = "<4>kiipush: \(half) lines were dropped here, since nobody read the log"
        #expect(reader.lines == (0..<half).map { "burst \($0)" } + [told] + (0..<half).map { "line \($0)" })
    }

    @Test("a shortage that begins after its dropped lines were told ends all the same")
    func late() {
        let reader = Reader()
        reader.open()
        let shortages = Shortages()
        let writer = LogWriter(shortages: shortages) { reader.read($0.description) }
        // As a thread that was interrupted between the dropping of its line and the shortage.
        shortages.begin(.log, "nobody reads it")
        writer.add(JournalLine(asItIs: "next"))
        #expect(writer.finish(within: .seconds(20)) && !shortages.isShort(of: .log))
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

    @Test("warnings of a kind and a route have a share too, and others are written beside them")
    func warnings() {
        let lines = Mutex<[String]>([])
        let writer = LogWriter { line in
            lines.withLock { $0.append("\(line)") }
            return true
        }
        let log = AgentLog(isQuiet: true, writer: writer, shortages: Shortages { _ in })
        for _ in 0..<100 { log.trouble("own", "own bucket", of: "r") }
        log.trouble("another")
        log.tellLeftOut(all: true)
        #expect(writer.finish(within: .seconds(20)))
        #expect(lines.withLock { $0.count } == 62)
        #expect(lines.withLock { $0.last } == "<4>left out 40 lines within 60 s: own bucket; r")
    }

    @Test("the line of an outcome is counted for its first route")
    func outcomes() async {
        let keys = Mutex<[LineQuota.Key]>([])
        let receiver = PushReceiver(app: "0123abcd", clock: ManualClock())
        receiver.onPushToApp(id: "app") { _, _ in }
        receiver.onTrace { trace in keys.withLock { $0.append(LineQuota.Key(trace)) } }
        _ = await receiver.receive(PayloadFixture.pushToApp().payload(.long))
        _ = await receiver.receive(PayloadFixture.pushToUser().payload(.long))
        #expect(
            keys.withLock { $0 } == [LineQuota.Key(kind: "handled", route: "app"), LineQuota.Key(kind: "unrouted")])
    }
}

@Suite("the log's lines, as the journal, a terminal or a pipe has them", .timeLimit(.minutes(5)))
struct LogOutputTests {
    private let folder: Folder

    init() throws { folder = try Folder() }

    /// A line of each kind: of a message, of an event, of a command.
    private static func lines() async -> [JournalLine] {
        let receiver = PushReceiver(clock: ManualClock())
        let lines = Mutex<[JournalLine]>([])
        receiver.onPushToApp(id: "settings\n", bucket: "settings") { _, _ in }
        receiver.onTrace { trace in lines.withLock { $0.append(JournalLine(trace)) } }
        _ = await receiver.receive(PayloadFixture.pushToApp(bucket: "settings").payload(.long))
        let event = ServiceEvent.transport("mqtt", .disconnected("gone", retryIn: .seconds(1)))
        return lines.withLock { $0 } + [
            JournalLine(event), JournalLine(asItIs: "kiipush receive: no such file\nPRIORITY=0"),
        ]
    }

    private func written(_ output: LogOutput, _ lines: [JournalLine]) -> [String] {
        var written: [String] = []
        for line in lines {
            let isWritten = output.write(line) { text in
                written.append(text)
                return true
            }
            #expect(isWritten)
        }
        return written
    }

    @Test("lines to a pipe begin with their priority and have no fields")
    func prefixed() async throws {
        let pipe = try Pipe()
        let lines = written(LogOutput(descriptor: pipe.readEnd, journalStream: nil), await Self.lines())
        #expect(lines[0].hasPrefix("<6>message 1: handled; route settings"))
        #expect(lines[1] == "<4>mqtt: disconnected: gone; again in 1.0 s")
        #expect(lines.allSatisfy { !$0.contains("\0") && !$0.contains("KIIPUSH") })
    }

    @Test("lines to a terminal have neither a priority nor fields")
    func plain() async throws {
        // A new terminal's other end, which is one too.
        let screen = unsafe open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        defer { close(screen) }
        #expect(isatty(screen) == 1)
        let lines = written(LogOutput(descriptor: screen, journalStream: nil), await Self.lines())
        #expect(lines[0].hasPrefix("message 1: handled") && lines[1].hasPrefix("mqtt: disconnected"))
    }

    @Test("the journal gets the fields, in its own protocol, and a line end in a text makes no field")
    func journal() async throws {
        let listener = try DatagramSocket(path: folder["journal"])
        let pipe = try Pipe()
        var status = stat()
        #expect(unsafe fstat(pipe.readEnd, &status) == 0)
        let stream = "\(status.st_dev):\(status.st_ino)"
        let output = LogOutput(descriptor: pipe.readEnd, journalStream: stream, journal: folder["journal"])
        let lines = await Self.lines()
        #expect(written(output, lines).isEmpty)
        let datagrams = try lines.map { _ in try #require(listener.next).split(separator: "\n") }
        #expect(datagrams[0].contains("KIIPUSH_OUTCOME=handled") && datagrams[0].contains("PRIORITY=6"))
        #expect(datagrams[0].contains("KIIPUSH_KIND=pushToApp") && datagrams[0].contains("KIIPUSH_TOOK_MS=0"))
        #expect(datagrams[0].contains(#"KIIPUSH_ROUTE=settings\n"#))
        #expect(datagrams[1].contains("KIIPUSH_EVENT=disconnected") && datagrams[1].contains("KIIPUSH_TRANSPORT=mqtt"))
        #expect(datagrams[1].first == "MESSAGE=mqtt: disconnected: gone; again in 1.0 s")
        #expect(
            datagrams[2] == [
                #"MESSAGE=kiipush receive: no such file\nPRIORITY=0"#, "PRIORITY=4", "SYSLOG_IDENTIFIER=kiipush",
            ])
        #expect(!datagrams.joined().contains { $0.contains("settings/") })
    }

    @Test("lines go on as plain text if the journal is away, or is another stream", arguments: [true, false])
    func away(isJournal: Bool) async throws {
        let pipe = try Pipe()
        var status = stat()
        #expect(unsafe fstat(pipe.readEnd, &status) == 0)
        let stream = "\(status.st_dev):\(isJournal ? status.st_ino : status.st_ino + 1)"
        let output = LogOutput(descriptor: pipe.readEnd, journalStream: stream, journal: folder["nobody"])
        let lines = written(output, await Self.lines())
        #expect(lines.count == 3 && lines[0].hasPrefix("<6>message 1"))
    }
}
