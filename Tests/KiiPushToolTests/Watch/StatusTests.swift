import Foundation
import Glibc
import KiiPush
import KiiPushSystem
import KiiPushTesting
import Testing

@testable import kiipush
@testable import KiiPushAgent
@testable import KiiPushTestSupport

@Suite("kiipush status, and the agent that it asks", .timeLimit(.minutes(5)))
struct StatusTests {
    private let folder: TemporaryFile
    private var state: String { folder.directory + "/state" }

    init() throws { folder = try TemporaryFile(ReceiveTests.rules, name: "rules.json") }

    @Test("an agent that runs is healthy, and its status has what has passed")
    func running() async throws {
        let agent = try WatchedRun(folder.path, state)
        try agent.send(#"{"bucketID":"settings","objectScopeType":"APP","objectID":"o","when":1}"#)
        try agent.send(#"{"topic":"news","objectScopeType":"APP","when":2}"#)
        try agent.agent.wait { $0.log.contains(/deadLettered.*; dead letter 1;/) }
        _ = await ToolRun("kill", "settings", "--for", "1h", "--state", state)
        let run = await ToolRun("status", "--format", "json", "--state", state)
        #expect(run.code == .fine && run.errors.isEmpty, "\(run.errors) \(run.output)")
        let status = try #require(AgentStatus(json: run.output.first ?? ""))
        #expect(status.isHealthy && status.process == Int64(agent.agent.process))
        #expect(status.transports.map(\.name) == ["stdin"] && status.transports.first?.messages == 2)
        #expect(status.transports.first?.lastMessageAt != nil)
        #expect(status.routes.map(\.id) == ["settings", "broken"])
        #expect(status.routes.map(\.handled) == [1, 0] && status.routes.map(\.failed) == [0, 2])
        #expect(status.routes.allSatisfy { $0.p50 != nil && $0.p99 != nil && $0.waitedP99 != nil })
        #expect(status.kills.map(\.target) == ["settings"])
        #expect(status.deadLetters.count == 1)
        let text = await ToolRun("status", "--state", state)
        #expect(text.code == .fine && text.output.allSatisfy { $0.count <= 80 }, "\(text.output)")
        #expect(text.output.first?.contains("agent \(agent.agent.process), kiipush \(Version.number): healthy") == true)
        #expect(try agent.agent.stop() == 0)
    }

    @Test("a kill whose id no route has is told, and one of a bucket or of everything is not")
    func unknownKills() async throws {
        let agent = try WatchedRun(folder.path, state)
        let bucket = "kiicloud://users/u/buckets/unheard"
        // As without an agent: it refuses a kill of what it does not have, and takes these from the file.
        for target in ["setings", bucket] {
            let end = UTCDate.now.advanced(by: .seconds(3600))
            try KillFile(directory: state).kill(try #require(KillTarget(target)), until: end)
        }
        for target in ["settings", "*"] { _ = await ToolRun("kill", target, "--state", state) }
        let run = await ToolRun("status", "--format", "json", "--state", state)
        let status = try #require(AgentStatus(json: run.output.first ?? ""))
        #expect(status.kills.map(\.target) == ["*", bucket, "setings", "settings"])
        #expect(status.kills.map(\.isKnown) == [true, true, false, true])
        let text = await ToolRun("status", "--state", state)
        #expect(text.output.filter { $0.contains("no route has") }.count == 1, "\(text.output)")
        #expect(try agent.agent.stop() == 0)
    }

    @Test(
        "without an agent the code is 2, and neither a directory nor a page is made",
        arguments: ["status", "tap", "top", "report"])
    func nobody(command: String) async {
        let page = folder.directory + "/page.html"
        let run = await ToolRun([command, "--state", state] + (command == "report" ? ["--watch", "-o", page] : []))
        #expect(run.code == .nobody)
        #expect(unsafe access(page, F_OK) != 0)
        #expect(run.errors == ["kiipush \(command): no agent runs on \(state); --state names another directory"])
        #expect(unsafe access(state, F_OK) != 0)
    }
}

/// An agent on a pipe that stays open; one with a state directory answers commands when this is made.
final class WatchedRun {
    let agent: RunningAgent
    private let pipe: Int32

    init(_ rules: String, _ state: String? = nil, _ options: [String] = []) throws {
        let input = rules + ".input"
        guard unsafe mkfifo(input, 0o600) == 0 else { throw TestFailure(what: "mkfifo", code: errno) }
        // Both ends, so that neither the agent waits for a writer nor its input ends.
        pipe = unsafe open(input, O_RDWR | O_CLOEXEC)
        let place = state.map { ["--state", $0] } ?? []
        agent = try RunningAgent(["--rules", rules, "--stdin"] + place + options, input: input)
        if let state { try agent.wait { _ in unsafe access(state + "/control.sock", F_OK) == 0 } }
    }

    deinit { close(pipe) }

    func send(_ lines: String...) throws {
        for line in lines {
            let bytes = Array((line + "\n").utf8)
            guard unsafe write(pipe, bytes, bytes.count) == bytes.count else {
                throw TestFailure(what: "write", code: errno)
            }
        }
    }
}

@Suite("kiipush top", .timeLimit(.minutes(5)))
struct TopTests {
    private static func status(_ routes: [AgentStatus.Route], uptime: Int64 = 100) -> AgentStatus {
        var status = AgentStatusTests.full
        (status.routes, status.uptime) = (routes, uptime)
        return status
    }

    private static let routes: [AgentStatus.Route] = [
        .init(id: "quiet"),
        .init(id: "often", handled: 5000, failed: 0, p99: 1, waitedP99: 2, handlingSeconds: 5),
        .init(id: "slow", handled: 50, failed: 2, p99: 9000, waitedP99: 10, handlingSeconds: 80),
        .init(id: "late", handled: 10, failed: 40, p99: 1, waitedP99: 90_000, handlingSeconds: 1),
    ]

    @Test(
        "the routes that come first are those with most of what is sorted by",
        arguments: [
            (TopScreen.Order.busy, ["slow", "often", "late", "quiet"]),
            (.rate, ["often", "slow", "late", "quiet"]), (.failed, ["late", "slow", "often", "quiet"]),
            (.wait, ["late", "slow", "often", "quiet"]), (.name, ["late", "often", "quiet", "slow"]),
        ])
    func order(order: TopScreen.Order, ids: [String]) {
        let screen = TopScreen(status: Self.status(Self.routes), order: order)
        #expect(screen.rows.map(\.route.id) == ids)
    }

    @Test("rates are of the time between two looks; of the time since the beginning at the first one, or a restart")
    func rates() {
        var later = Self.routes
        later[2].handled += 20
        later[2].handlingSeconds += 3
        var screen = TopScreen(status: Self.status(later))
        #expect(screen.rows.first { $0.route.id == "slow" }?.rate == 0.72)
        screen.previous = (Self.status(Self.routes), 4)
        #expect(screen.rows.first == TopScreen.Row(route: later[2], rate: 5, busy: 0.75))
        #expect(screen.rows.first { $0.route.id == "often" }?.rate == 0)
        var before = Self.status(Self.routes)
        (before.process, before.since) = (1, .now)
        screen.previous = (before, 4)
        #expect(screen.rows.first { $0.route.id == "slow" }?.rate == 0.72)
    }

    @Test("all stays on the screen, whatever its size", arguments: [(80, 24), (200, 50), (80, 10), (100, 6)])
    func size(columns: Int, rows: Int) {
        let many = (0..<100).map { AgentStatus.Route(id: "route-\($0)-" + String(repeating: "x", count: $0)) }
        var screen = TopScreen(status: Self.status(many), size: ScreenSize(columns: columns, rows: rows))
        screen.note = String(repeating: "q quit ", count: 40)
        #expect(screen.lines.count <= rows)
        #expect(screen.lines.allSatisfy { $0.count <= columns })
        #expect(screen.lines.contains { $0.hasPrefix("ROUTE") && $0.hasSuffix("WAIT99") })
        #expect(screen.lines.contains(screen.header))
    }

    @Test("the time for five thousand routes grows with their number, not with its square", .timeLimit(.minutes(1)))
    func many() {
        let routes = (0..<5000).map { AgentStatus.Route(id: "r\($0)", handled: 1) }
        var screen = TopScreen(status: Self.status(routes), size: ScreenSize(columns: 80, rows: 2000))
        screen.previous = (Self.status(routes.map { AgentStatus.Route(id: $0.id) }), 1)
        #expect(screen.rows.allSatisfy { $0.rate == 1 })
        #expect(screen.lines.count == 2000 && screen.lines.last?.hasSuffix(" more routes") == true)
    }

    @Test("where there is no terminal it prints as many snapshots as it is asked for, without colours")
    func snapshots() async throws {
        let folder = try TemporaryFile(ReceiveTests.rules, name: "rules.json")
        let state = folder.directory + "/state"
        let run = try WatchedRun(folder.path, state)
        let top = await ToolRun("top", "--state", state, "--count", "2", "--interval", "100ms")
        #expect(top.code == .fine && top.errors.isEmpty)
        #expect(top.output.filter { $0.hasPrefix("agent \(run.agent.process)") }.count == 2)
        #expect(top.output.filter { $0.hasPrefix("ROUTE") }.count == 2)
        #expect(top.output.allSatisfy { $0.count <= 80 && !$0.contains("\u{1B}") })
        #expect(try run.agent.stop() == 0)
    }
}

/// What the guide WatchingAnAgent shows of an agent, against what the tool prints.
@Suite("the status and the message that the guide shows")
struct WatchingGuideTests {
    private static var agent: AgentStatus {
        var status = AgentStatus(
            version: "0.1.0", process: 4242, state: "/var/lib/kiipush",
            since: UTCDate("2026-11-22T10:00:00Z") ?? .now, uptime: 11_045, isOpen: true)
        status.transports = [
            .init(
                name: "mqtt", state: .connected, forSeconds: 3600,
                detail: "MQTT 3.1.1 over TLS, session kept, QoS 1 granted", lastMessageAgo: 4, messages: 12_345)
        ]
        status.queue = .init(messages: 12, bytes: 3481, waiting: 3, handling: 8, retrying: 1)
        status.outcomes = [
            .init(outcome: "handled", messages: 12_000), .init(outcome: "duplicate", reason: "done", messages: 326),
            .init(outcome: "deadLettered", reason: "failed", messages: 7),
        ]
        status.deadLetters.count = 7
        status.kills = [.init(target: "news", until: UTCDate("2026-11-22T14:00:00Z"))]
        status.routes = [
            .init(id: "settings", handled: 12_000, failed: 7, p50: 1.2, p99: 20, waitedP99: 0.3), .init(id: "news"),
        ]
        return status
    }

    /// The blocks of the guide that begin with a text, line by line.
    private func shown(_ beginning: String) throws -> [[String]] {
        let guide = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Sources/KiiPush/KiiPush.docc/WatchingAnAgent.md")
        let blocks = try String(contentsOf: guide, encoding: .utf8).components(separatedBy: "\n```\n")
        return blocks.filter { $0.hasPrefix(beginning) }.map { $0.components(separatedBy: "\n") }
    }

    @Test("the status is what kiipush status prints on a terminal of 80 columns")
    func status() throws { #expect(try shown("agent ") == [StatusText(status: Self.agent, width: 80).lines]) }

    @Test("the message is what kiipush tap prints when the same one comes again")
    func tap() async throws {
        let (clock, board) = (ManualClock(), TapBoard())
        let receiver = PushReceiver(clock: clock)
        receiver.onPushToApp(id: "settings", bucket: "settings") { _, _ in }
        receiver.onTrace { board.offer($0) }
        let reader = try #require(try board.add(TapOptions()))
        let bytes = Array(#"{"bucketID":"settings","objectID":"o-1","objectScopeType":"APP","when":1}"#.utf8)
        let payload = RawPayload(bytes, arrivedAt: clock.now)
        clock.advance(by: .microseconds(100))
        for _ in 1...2 { _ = await receiver.receive(payload) }
        let traces = reader.take().messages.map(\.trace)
        let time = try #require(UTCDate("2026-11-22T13:04:01.123Z"))
        #expect(try shown("13:04:01") == [traces.dropFirst().map { TappedMessage(trace: $0, time: time).text }])
    }
}
