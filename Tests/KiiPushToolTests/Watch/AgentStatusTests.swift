import KiiPush
@testable import KiiPushAgent
import KiiPushSystem
import Testing

@testable import kiipush

@Suite("an agent's status, as JSON and as text")
struct AgentStatusTests {
    /// A status with something in every place.
    static var full: AgentStatus {
        var status = AgentStatus()
        (status.version, status.process, status.state) = ("0.1.0", 4242, "/var/lib/kii\"push")
        status.since = UTCDate("2026-11-22T10:00:00.125Z") ?? .now
        (status.uptime, status.isOpen) = (11_045, true)
        status.failures = ["the inbox could not record the outcome of a message: /s/kiipush.db: is locked"]
        status.transports = [
            .init(
                name: "mqtt", state: .connected, forSeconds: 3600, detail: "QoS 1, the broker has kept the session",
                lastMessageAgo: 4, lastMessageAt: UTCDate("2026-11-22T13:04:01Z"), messages: 1_234_567)
        ]
        status.queue = .init(
            messages: 12, bytes: 3481, waiting: 3, handling: 8, retrying: 1, paced: 2, onDisk: 0, recovering: 1)
        status.routes = [
            .init(
                id: "settings", handled: 1_234_000, failed: 3, paced: 2, expired: 1, p50: 0.25, p99: 1500.5,
                waitedP50: 0.2, waitedP99: 240_000, handlingSeconds: 12.5),
            .init(id: "a-route-with-a-name-that-is-much-longer-than-any-column-of-a-terminal-should-be"),
        ]
        status.outcomes = [
            .init(outcome: "handled", reason: nil, messages: 1_234_000),
            .init(outcome: "duplicate", reason: "done", messages: 7),
        ]
        status.paced = [
            .init(
                level: "object", route: "settings", subject: "kiicloud://buckets/b/objects/o", since: 8, waiting: 2,
                superseded: 40, why: "many changes came at once")
        ]
        status.kills = [
            .init(target: "*", until: UTCDate("2026-11-22T14:00:00Z")), .init(target: "setings", isKnown: false),
        ]
        status.deadLetters = .init(count: 7, isFull: false)
        status.shortages = [
            .init(
                kind: "descriptors", since: UTCDate("2026-11-22T13:00:00Z"),
                what: "no program can be started; tried again each second")
        ]
        status.silent = [.init(route: "news", forSeconds: 7200)]
        status.rules = .init(
            file: "rules.json", digest: String(repeating: "ab", count: 32),
            params: [.init(name: "thing", value: "th.7"), .init(name: "token", isSecret: true)],
            needRestart: ["app"], refused: "since 2026-11-22T12:00:00Z: rules.json:1:2: the text ends")
        status.healed = "the state was damaged; saved: 3 dead letters"
        status.metricsFailure = "metrics.prom: cannot be written: Read-only file system"
        return status
    }

    @Test("what is written is read again, all of it")
    func roundTrip() {
        #expect(AgentStatus(json: Self.full.json) == Self.full)
        let empty = AgentStatus(since: UTCDate("2026-11-22T10:00:00Z") ?? .now, deadLetters: .init(count: 0))
        #expect(AgentStatus(json: empty.json) == empty)
    }

    @Test("the JSON has the keys that scripts rely on")
    func contract() {
        let json = Self.full.json
        for part in [
            #""since":"2026-11-22T10:00:00.125Z""#, #""healthy":false"#,
            #""transports":[{"name":"mqtt","state":"connected","#, #""lastMessageAt":"2026-11-22T13:04:01.000Z""#,
            #""queue":{"messages":12,"bytes":3481,"#, #""routes":[{"id":"settings","handled":1234000,"failed":3,"#,
            #""p50":0.25,"p99":1500.5,"#, #""paced":[{"#,
            #""kills":[{"target":"*","until":"2026-11-22T14:00:00Z","known":true},"#,
            #"{"target":"setings","until":null,"known":false}]"#,
            #""deadLetters":{"count":7,"full":false}"#, #""shortages":[{"kind":"descriptors","#,
        ] {
            #expect(json.contains(part), "\(part) in \(json)")
        }
        #expect(!json.contains("\n"))
    }

    /// One thing that changes in a healthy status, and what is then said of it.
    struct Change: Sendable {
        var problems: [String] = []
        let make: @Sendable (inout AgentStatus) -> Void
    }

    static let changes = [
        Change { _ in },
        Change(problems: ["accepts no payloads: it is starting or stopping"]) { $0.isOpen = false },
        Change(problems: ["accepts no payloads", "the inbox fails"]) {
            ($0.isOpen, $0.failures) = (false, ["the inbox fails"])
        },
        Change(problems: ["the dead letters fail"]) { $0.failures = ["the dead letters fail"] },
        Change(problems: ["mqtt is reconnecting"]) { $0.transports[0].state = .reconnecting },
        Change(problems: ["mqtt is ended"]) { $0.transports[0].state = .ended },
        Change(problems: ["mqtt is refused"]) { $0.transports[0].state = .refused },
        Change(problems: ["short of descriptors"]) { $0.shortages = full.shortages },
        Change(problems: ["the queue is full"]) { $0.queue.isFull = true },
        Change(problems: ["the dead letters are full"]) { $0.deadLetters.isFull = true },
        Change(problems: ["the dead letters cannot be read"]) { $0.deadLetters.count = nil },
    ]

    @Test("it is healthy while it takes payloads in, its links are up, and there is room", arguments: changes)
    func health(change: Change) {
        var status = Self.full
        (status.shortages, status.failures) = ([], [])
        change.make(&status)
        #expect(status.problems == change.problems)
        #expect(status.isHealthy == change.problems.isEmpty)
    }

    @Test("no line of the text is wider than the screen, and nothing of it is lost", arguments: [40, 80, 132])
    func text(width: Int) {
        var status = Self.full
        status.transports[0].detail = "a\u{1B}[2J" + String(repeating: "x", count: 300)
        let lines = StatusText(status: status, width: width).lines
        if width >= 80 { #expect(lines.allSatisfy { $0.count <= width }, "\(lines)") }
        let text = lines.joined(separator: "\n")
        #expect(!text.contains("\u{1B}"))
        for part in ["4242", "NOT HEALTHY", "descriptors", "1,234,567", "everything is off", "ROUTE"] {
            #expect(text.contains(part), "\(part) in \(text)")
        }
    }

    @Test(
        "figures are short",
        arguments: [
            (Figures.time(nil), "-"), (Figures.time(0.04), "0.0 ms"), (Figures.time(0.25), "0.3 ms"),
            (Figures.time(12.4), "12 ms"), (Figures.time(999.6), "1.0 s"), (Figures.time(60_000), "60 s"),
            (Figures.time(240_000), "4 min"), (Figures.count(-1_234_567), "-1,234,567"), (Figures.count(999), "999"),
            (Figures.bytes(1023), "1023 B"), (Figures.bytes(3481), "3.4 KiB"), (Figures.bytes(1 << 30), "1.0 GiB"),
            (Figures.column("abc", 5), "abc  "), (Figures.column("abc", 5, isRight: true), "  abc"),
            (Figures.column("abcdef", 5), "abcd…"),
            (Figures.wrapped("aa bb ccccccccccc", 8).joined(separator: "|"), "aa bb|cccccccc|ccc"),
            (Figures.folded("12:00 handled a/o-1", 14).joined(separator: "|"), "12:00 handled|    a/o-1"),
            (Figures.folded("12:00 handled", 14).joined(separator: "|"), "12:00 handled"),
            (Figures.folded("abcdefghijklmnopqrst", 12).joined(separator: "|"), "abcdefghijkl|    mnopqrst"),
        ])
    func figures(shown: String, expected: String) { #expect(shown == expected) }
}
