import Glibc
import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushAgent
@testable import KiiPushDelivery
@testable import KiiPushSystem
@testable import KiiPushTestSupport

@Suite(.timeLimit(.minutes(5)))
struct MetricsFileTests {
    let folder: Folder

    init() throws { folder = try Folder() }

    private var metrics: Metrics {
        Metrics(
            outcomes: [
                .init(outcome: "handled", reason: nil, messages: 3),
                .init(outcome: "paced", reason: nil, messages: 2),
                .init(outcome: "duplicate", reason: "done", messages: 1),
            ],
            routes: [Metrics.RouteCount(route: "a\\b\"c\nd ä", handled: 3, failed: 1, paced: 2, expired: 4)])
    }

    private var status: ServiceStatus {
        var status = ServiceStatus()
        (status.waiting, status.handling, status.retrying, status.paced) = (1, 2, 3, 4)
        (status.messages, status.bytes, status.overrunning, status.isOpen) = (10, 2270, 5, true)
        (status.onDisk, status.bytesOnDisk) = (20, 4000)
        return status
    }

    @Test("the file is in Prometheus's text format, each family with its help and its type, and counts what is on disk")
    func format() throws {
        try MetricsFile(metrics: metrics, status: status).write(to: folder["m.prom"])
        let expected = #"""
            # HELP kiipush_messages_total Messages that have ended.
            # TYPE kiipush_messages_total counter
            kiipush_messages_total{outcome="handled",reason=""} 3
            kiipush_messages_total{outcome="duplicate",reason="done"} 1
            # HELP kiipush_route_handled_total How often a route's handler succeeded.
            # TYPE kiipush_route_handled_total counter
            kiipush_route_handled_total{route="a\\b\"c\nd ä"} 3
            # HELP kiipush_route_failed_total How often a route's handler failed.
            # TYPE kiipush_route_failed_total counter
            kiipush_route_failed_total{route="a\\b\"c\nd ä"} 1
            # HELP kiipush_route_paced_total How many messages had to wait for their pace.
            # TYPE kiipush_route_paced_total counter
            kiipush_route_paced_total{route="a\\b\"c\nd ä"} 2
            # HELP kiipush_route_expired_total How often a message was too old for a route.
            # TYPE kiipush_route_expired_total counter
            kiipush_route_expired_total{route="a\\b\"c\nd ä"} 4
            # HELP kiipush_service_messages Messages that have not ended.
            # TYPE kiipush_service_messages gauge
            kiipush_service_messages{state="waiting"} 1
            kiipush_service_messages{state="handling"} 2
            kiipush_service_messages{state="retrying"} 3
            kiipush_service_messages{state="paced"} 4
            kiipush_service_messages{state="onDisk"} 20
            # HELP kiipush_service_payloads Accepted payloads that have not ended.
            # TYPE kiipush_service_payloads gauge
            kiipush_service_payloads 30
            # HELP kiipush_service_bytes Bytes of the accepted payloads that have not ended.
            # TYPE kiipush_service_bytes gauge
            kiipush_service_bytes 6270
            # HELP kiipush_service_overrunning Handlers that have exceeded their timeout.
            # TYPE kiipush_service_overrunning gauge
            kiipush_service_overrunning 5
            # HELP kiipush_service_open 1 while payloads are accepted.
            # TYPE kiipush_service_open gauge
            kiipush_service_open 1

            """#
        #expect(try folder.read("m.prom") == expected)
        #expect(fileMode(folder["m.prom"]) == 0o644)
        #expect(folder.names == ["m.prom"])
    }

    @Test("counts a service's events")
    func counts() throws {
        let counts = ServiceCounts()
        let events: [ServiceEvent] = [
            .retry(messageID: 1, route: "r", attempt: 1, pause: .seconds(1), cause: "E"),
            .overrun(messageID: 1, route: "r", isLeft: false), .overrun(messageID: 1, route: "r", isLeft: true),
            .storeFailed("full"), .storeFailed("full"), .transport("mqtt", .connected("QoS 1")),
            .transport("mqtt", .disconnected("gone", retryIn: .seconds(1))),
            .transport("mqtt", .refused("not authorised", retryIn: .seconds(1))),
            .transport("mqtt", .possibleGap("new")),
            .transport("mqtt", .ignored("t")), .transport("mqtt", .ignored("t")), .transport("a", .connected("")),
        ]
        for event in events { counts.count(event) }
        try MetricsFile(metrics: metrics, status: status, counts: counts).write(to: folder["m"])
        let lines = try folder.read("m").split(separator: "\n").suffix(19).filter { !$0.hasPrefix("#") }
        #expect(lines.count == 13)
        #expect(
            lines.filter { !$0.hasSuffix(" 0") } == [
                "kiipush_retries_total 1", "kiipush_overruns_total 1", "kiipush_store_failures_total 2",
                #"kiipush_transport_events_total{transport="a",event="connected"} 1"#,
                #"kiipush_transport_events_total{transport="mqtt",event="connected"} 1"#,
                #"kiipush_transport_events_total{transport="mqtt",event="disconnected"} 1"#,
                #"kiipush_transport_events_total{transport="mqtt",event="refused"} 1"#,
                #"kiipush_transport_events_total{transport="mqtt",event="possibleGap"} 1"#,
                #"kiipush_transport_events_total{transport="mqtt",event="ignored"} 2"#,
            ])
    }

    @Test("the file has shortages, now and in total, and dropped lines")
    func shortages() throws {
        let shortages = Shortages()
        for _ in 0..<2 {
            shortages.begin(.disk, "full")
            shortages.begin(.disk, "still full")
            shortages.end(.disk)
        }
        shortages.begin(.log, "nobody reads")
        let file = MetricsFile(metrics: metrics, status: status, shortages: shortages, droppedLines: 7)
        try file.write(to: folder["m"])
        let lines = try folder.read("m").split(separator: "\n").filter {
            !$0.hasPrefix("#") && ($0.contains("shortage") || $0.contains("dropped"))
        }
        #expect(lines.count == 2 * Shortage.Kind.allCases.count + 1)
        #expect(
            lines.filter { !$0.hasSuffix(" 0") } == [
                #"kiipush_shortage{kind="log"} 1"#, #"kiipush_shortages_total{kind="disk"} 2"#,
                #"kiipush_shortages_total{kind="log"} 1"#, "kiipush_log_lines_dropped_total 7",
            ])
    }

    @Test("how many messages of each level wait is in the file")
    func paced() async throws {
        let clock = ManualClock()
        let receiver = PushReceiver(clock: clock)
        receiver.onPushToApp(id: "r", options: RouteOptions(pace: .every(.seconds(8)))) { _, _ in }
        for number in 0..<23 {
            let fixture = PayloadFixture.pushToApp(sentAt: Int64(number), modifiedAt: Int64(number))
            _ = await receiver.receive(fixture.payload(.long))
        }
        let loopGuard = try #require(receiver.loopGuard)
        try MetricsFile(metrics: receiver.metrics, status: status, paced: loopGuard.paced).write(to: folder["m"])
        #expect(try folder.read("m").hasSuffix(#"kiipush_loop_paced{level="object"} 3"# + "\n"))
    }

    @Test("every outcome of a receiver is in the file, and their sum is what was received")
    func receiver() async throws {
        let receiver = PushReceiver()
        receiver.onPushToApp(id: "r", bucket: "settings") { _, _ in }
        for payload in ["{", "{}", PayloadFixture.pushToApp().json(.long)] {
            _ = await receiver.receive(RawPayload(payload))
        }
        try MetricsFile(metrics: receiver.metrics, status: ServiceStatus()).write(to: folder["m"])
        let values = try folder.read("m").split(separator: "\n").filter { $0.hasPrefix("kiipush_messages_total{") }
            .compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }
        #expect(values.reduce(0, +) == 3)
        #expect(values.count == receiver.metrics.outcomes.count - 1)
    }

    @Test("reports a file that cannot be written, and keeps the old one")
    func refused() throws {
        try folder.makeFolder("m")
        #expect(throws: WriteError(path: folder["m"], number: ErrorNumber(rawValue: EISDIR))) {
            try MetricsFile(metrics: metrics, status: status).write(to: folder["m"])
        }
        #expect(folder.names == ["m"])
        let file = MetricsFile(metrics: metrics, status: status)
        #expect(throws: WriteError.self) { try file.write(to: folder["none/m"]) }
        for (text, isKept) in [("SQLite format 3", true), ("", false), ("# HELP", false), ("\0\0", false)] {
            try folder.write(text, to: "other")
            let error = (try? file.write(to: folder["other"])) == nil
            #expect(try error == isKept && (folder.read("other") == text) == isKept, "\(text)")
        }
    }
}

/// What becomes of a path that is not that of a regular file when a file is written there.
@Suite(.timeLimit(.minutes(5)))
struct ReplaceFileTests {
    let folder: Folder

    init() throws { folder = try Folder() }

    private func kind(_ name: String) -> mode_t {
        var status = stat()
        return unsafe lstat(folder[name], &status) == 0 ? status.st_mode & S_IFMT : 0
    }

    @Test(
        "a symbolic link stays, and the file that it names is replaced",
        arguments: ["target", "./target", "sub/../target", "other"])
    func links(target: String) throws {
        try folder.makeFolder("sub")
        try folder.write("old", to: "target")
        try folder.link("other", to: folder["target"])
        try folder.link("link", to: target)
        try replaceFile(folder["link"], with: "new")
        #expect(kind("link") == S_IFLNK && kind("other") == S_IFLNK)
        #expect(try folder.read("target") == "new")
        #expect(folder.names == ["link", "other", "sub", "target"])
    }

    @Test("creates the target of a dangling link, and refuses a link to itself")
    func danglingLinks() throws {
        try folder.link("link", to: "none")
        try replaceFile(folder["link"], with: "new")
        #expect(try folder.read("none") == "new")
        try folder.link("loop", to: "loop")
        #expect(throws: ErrorNumber(rawValue: ELOOP)) { try replaceFile(folder["loop"], with: "new") }
        #expect(kind("loop") == S_IFLNK)
    }

    @Test(
        "a link of another user is not followed", .enabled(if: geteuid() == 0, "only root can make one"),
        arguments: ["target", "/dev/null"])
    func foreignLink(target: String) throws {
        try folder.link("foreign", to: target)
        try folder.link("own", to: "foreign")
        try #require(unsafe lchown(folder["foreign"], 65_534, 65_534) == 0)
        let refused = ErrorNumber(rawValue: ELOOP)
        for name in ["foreign", "own"] {
            #expect(throws: refused) { try replaceFile(folder[name], with: "new") }
            #expect(throws: WriteError(path: folder[name], number: refused)) {
                try CaptureFile(path: folder[name]).add(RawPayload("{}"))
            }
        }
        #expect(folder.names == ["foreign", "own"])
    }

    @Test("writes to a device and reports its error", arguments: [("/dev/null", 0), ("/dev/full", ENOSPC)])
    func devices(device: String, error: Int32) throws {
        // By links, since a fault must not replace the machine's own devices.
        try folder.link("device", to: device)
        for waits in [true, false] {
            do throws(ErrorNumber) {
                try replaceFile(folder["device"], with: "new", waits: waits)
                #expect(error == 0)
            } catch { #expect(error.rawValue == ENOSPC && device == "/dev/full") }
        }
        #expect(kind("device") == S_IFLNK)
        #expect(folder.names == ["device"])
    }

    @Test("writes to a pipe's reader; without one it is an error")
    func pipes() throws {
        #expect(unsafe mkfifo(folder["pipe"], 0o600) == 0)
        #expect(throws: ErrorNumber(rawValue: ENXIO)) { try replaceFile(folder["pipe"], with: "new") }
        let reader = unsafe open(folder["pipe"], O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        defer { close(reader) }
        for (text, waits) in [("one", false), ("two", true)] {
            try replaceFile(folder["pipe"], with: text, waits: waits)
            var bytes = [UInt8](repeating: 0, count: 10)
            let count = unsafe read(reader, &bytes, bytes.count)
            #expect(String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self) == text)
        }
        #expect(throws: ErrorNumber(rawValue: EAGAIN)) {
            try replaceFile(folder["pipe"], with: String(repeating: "x", count: 1 << 20))
        }
        #expect(kind("pipe") == S_IFIFO)
    }

    @Test("an open descriptor's file is written into, not replaced")
    func descriptor() throws {
        try folder.write("", to: "file")
        let descriptor = unsafe open(folder["file"], O_RDWR | O_CLOEXEC)
        defer { close(descriptor) }
        var (before, after) = (stat(), stat())
        unsafe fstat(descriptor, &before)
        try replaceFile("/dev/fd/\(descriptor)", with: "new")
        unsafe stat(folder["file"], &after)
        #expect(before.st_ino == after.st_ino)
        #expect(try folder.read("file") == "new")
    }

    @Test("never replaces or removes anything but a file")
    func occupied() throws {
        for name in ["m.tmp", "kill.json.broken", "c.1"] { #expect(unsafe mkfifo(folder[name], 0o600) == 0) }
        #expect(throws: ErrorNumber(rawValue: EEXIST)) { try replaceFile(folder["m"], with: "new") }
        try folder.write("{", to: "kill.json")
        #expect(throws: KillFileError.self) { try KillFile(path: folder["kill.json"]).reset() }
        let capture = CaptureFile(path: folder["c"], limit: 1024)
        let payload = RawPayload("{\"a\":\"\(String(repeating: "x", count: 700))\"}")
        try capture.add(payload)
        #expect(throws: WriteError.self) { try capture.add(payload) }
        for name in ["m.tmp", "kill.json.broken", "c.1"] { #expect(kind(name) == S_IFIFO) }
    }

    @Test("a capture behind a symbolic link is rotated where it lies")
    func linkedCapture() throws {
        try folder.link("c", to: "capture")
        let capture = CaptureFile(path: folder["c"], limit: 1024)
        let payload = RawPayload("{\"a\":\"\(String(repeating: "x", count: 700))\"}")
        for _ in 0..<2 { try capture.add(payload) }
        #expect(kind("c") == S_IFLNK && folder.names == ["c", "capture", "capture.1"])
    }
}
