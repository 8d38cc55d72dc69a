import Glibc
import KiiCloud
import KiiCloudTesting
import KiiPush

/// Several real agents at one cloud, over a real broker: somebody changes the object once that all of them listen to.
struct FleetPlan {
    let tool: String
    let devices: Int
    let only: String?

    /// The most changes that a device handles in the first 40 seconds, by what the guide says: 20 at once, the hour's
    /// allowance of 290, one in 8 seconds, and up to three in the seconds in which the agents are stopped in turn.
    private static let limit = 20 + 290 + 40 / 8 + 3

    /// Runs each kind of handler, prints the table, and says what did not hold.
    func run() async throws -> [String] {
        guard access(Broker.program, X_OK) == 0 else { throw Trouble("no \(Broker.program)") }
        let kinds = FleetHandler.allCases.filter { kind in only.map { kind.rawValue.contains($0) } ?? true }
        guard !kinds.isEmpty else { throw Trouble("no fleet has such a name") }
        var rows: [FleetRow] = []
        for kind in kinds {
            var row = FleetRow(kind.rawValue)
            do { try await run(kind, &row) } catch { row.broken.append("\(error)") }
            complain("\(kind.rawValue): \(row.broken.isEmpty ? "holds" : "DOES NOT HOLD")")
            rows.append(row)
        }
        print(table(rows))
        return rows.flatMap { row in row.broken.map { "\(row.handler): \($0)" } }
    }

    private func run(_ kind: FleetHandler, _ row: inout FleetRow) async throws {
        let broker = try Broker()
        let fleet = try FleetCloud(devices: devices, broker: broker)
        defer { fleet.stop() }
        let owner = fleet.client(of: .user(id: "u-1"))
        try await owner.write(FleetCloud.object, .create(["target": 20]))
        for device in 0..<devices {
            try await owner.perform(.subscribe(.thing(FleetCloud.thing(device)), to: .bucket(FleetCloud.object.bucket)))
        }
        let agents = try (0..<devices).map { device in
            try FleetAgent(tool: tool, device: device, fleet, broker, kind)
        }
        try await owner.write(FleetCloud.object, .patch(["target": 21]))
        try await Task.sleep(for: .seconds(kind.seconds - 2))
        let before = fleet.pushes
        try await Task.sleep(for: .seconds(2))
        let late = fleet.pushes - before
        // What the agents did; their own writes at the end count too.
        let ends = try agents.map { try $0.stop() }
        let writes = fleet.cloud.version(of: FleetCloud.object) - 2
        let most = ends.map(\.handled).max() ?? 0
        row.numbers = [devices, Int(kind.seconds), writes, fleet.pushes, most, late]
        check(kind, &row, writes: writes, most: most, late: late)
        if !fleet.cloud.violations.isEmpty { row.broken.append("the cloud refused: \(fleet.cloud.violations[0])") }
        for (device, end) in ends.enumerated() where end.end != .exited(0) {
            row.broken.append("device \(device): \(end.end)")
        }
    }

    private func check(_ kind: FleetHandler, _ row: inout FleetRow, writes: Int, most: Int, late: Int) {
        func hold(_ what: Bool, _ text: String) { if !what { row.broken.append(text) } }
        switch kind {
        case .unguarded:
            row.bound = "goes on"
            hold(late > 0 && most > Self.limit, "there was no loop, so the other rows show nothing")
        case .careless:
            row.bound = "at most \(Self.limit) handled by one"
            hold(most <= Self.limit && most > 1, "one device handled \(most)")
        case .different, .stamped:
            row.bound = "at most 9 handled by one, and over"
            hold(most <= 9 && writes >= 1, "one device handled \(most), after \(writes) writes")
            hold(late == 0, "it still goes on")
        case .same:
            row.bound = "one write, and over"
            hold(writes == 1 && late == 0, "\(writes) writes")
        }
    }
}

/// What came of one kind of handler.
private struct FleetRow {
    /// What is measured, in the order of the columns.
    static let titles = [
        "devices", "seconds", "writes", "pushes", "handled by one device", "pushes in the last 2 s",
    ]

    let handler: String
    /// What was measured; empty when the run broke off.
    var numbers: [Int] = []
    /// What has to hold.
    var bound = ""
    /// What did not hold.
    var broken: [String] = []

    init(_ handler: String) { self.handler = handler }
}

private func table(_ rows: [FleetRow]) -> String {
    let titles = ["handler"] + FleetRow.titles + ["bound", "holds"]
    let cells = rows.map { row in
        let numbers = row.numbers.isEmpty ? FleetRow.titles.map { _ in "-" } : row.numbers.map { "\($0)" }
        return [row.handler] + numbers + [row.bound, row.broken.isEmpty ? "yes" : "NO"]
    }
    return table(titles, cells, textColumns: [0, titles.count - 2, titles.count - 1])
}
