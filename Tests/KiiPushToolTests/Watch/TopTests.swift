import Glibc
@testable import KiiPushAgent
import KiiPushSystem
import Testing

@testable import kiipush

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

    @Test("where there is no terminal it prints as many snapshots as it is asked for, without colours")
    func snapshots() async throws {
        let folder = try TemporaryFile(ReceiveTests.rules, name: "rules.json")
        let state = String(folder.path.dropLast("/rules.json".count)) + "/state"
        let run = try WatchedRun(folder.path, state)
        let top = await ToolRun("top", "--state", state, "--count", "2", "--interval", "100ms")
        #expect(top.code == .fine && top.errors.isEmpty)
        #expect(top.output.filter { $0.hasPrefix("agent \(run.agent.process)") }.count == 2)
        #expect(top.output.filter { $0.hasPrefix("ROUTE") }.count == 2)
        #expect(top.output.allSatisfy { $0.count <= 80 && !$0.contains("\u{1B}") })
        #expect(try run.agent.stop() == 0)
        let alone = await ToolRun("top", "--state", state)
        #expect(
            alone.code == .nobody
                && alone.errors == ["kiipush top: no agent runs on \(state); --state names another directory"])
    }
}
