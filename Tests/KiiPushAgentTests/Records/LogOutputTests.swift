import Glibc
import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushDelivery
@testable import KiiPushAgent
@testable import KiiPushSystem
@testable import KiiPushTestSupport

@Suite("the log's lines, as the journal, a terminal or a pipe has them", .timeLimit(.minutes(5)))
struct LogOutputTests {
    private let folder: Folder

    init() throws { folder = try Folder() }

    /// A line of each kind: of a message, of an event, of a command.
    private static func lines() async -> [JournalLine] {
        let receiver = PushReceiver(clock: ManualClock())
        let lines = Mutex<[JournalLine]>([])
        receiver.onPushToApp("settings\n", bucket: "settings") { _, _ in }
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
        #expect(lines[1] == "<4>mqtt: disconnected: gone; again in 1000 ms")
        #expect(lines.allSatisfy { !$0.contains("\0") && !$0.contains("KIIPUSH") })
    }

    @Test("lines to a terminal have neither")
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
        let listener = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(listener) }
        let address = try #require(UnixAddress(path: folder["journal"]))
        try #require(unsafe address.withPointer { unsafe bind(listener, $0, $1) } == 0)
        let pipe = try Pipe()
        var status = stat()
        #expect(unsafe fstat(pipe.readEnd, &status) == 0)
        let stream = "\(status.st_dev):\(status.st_ino)"
        let output = LogOutput(descriptor: pipe.readEnd, journalStream: stream, journal: folder["journal"])
        let lines = await Self.lines()
        #expect(written(output, lines).isEmpty)
        var datagrams: [[Substring]] = []
        for _ in lines {
            var bytes = [UInt8](repeating: 0, count: 10_000)
            let count = unsafe recv(listener, &bytes, bytes.count, Int32(MSG_DONTWAIT))
            try #require(count > 0)
            datagrams.append(String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n"))
        }
        #expect(datagrams[0].contains("KIIPUSH_OUTCOME=handled") && datagrams[0].contains("PRIORITY=6"))
        #expect(datagrams[0].contains("KIIPUSH_KIND=pushToApp") && datagrams[0].contains("KIIPUSH_TOOK_MS=0"))
        #expect(datagrams[0].contains(#"KIIPUSH_ROUTE=settings\n"#))
        #expect(datagrams[1].contains("KIIPUSH_EVENT=disconnected") && datagrams[1].contains("KIIPUSH_TRANSPORT=mqtt"))
        #expect(datagrams[1].first == "MESSAGE=mqtt: disconnected: gone; again in 1000 ms")
        #expect(
            datagrams[2] == [
                #"MESSAGE=kiipush receive: no such file\nPRIORITY=0"#, "PRIORITY=4", "SYSLOG_IDENTIFIER=kiipush",
            ])
        #expect(!datagrams.joined().contains { $0.contains("settings/") })
    }

    @Test("where the journal is away, or another stream, the lines go on as they did", arguments: [true, false])
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
