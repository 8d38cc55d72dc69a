import KiiPush
import KiiPushAgent

/// The screen of `kiipush top`: head, facts, and the routes, the most expensive first.
struct TopScreen {
    /// The sorting of routes, in descending order.
    enum Order: String, CaseIterable {
        /// By how long handlers run, as a share of the elapsed time.
        case busy
        case rate
        case failed
        case wait
        case name

        var key: Character { rawValue.first ?? "?" }

        var next: Order {
            let all = Self.allCases
            return all[((all.firstIndex(of: self) ?? 0) + 1) % all.count]
        }
    }

    /// A route with its rates since the last update, or since the agent's start for the first one.
    struct Row: Equatable {
        let route: AgentStatus.Route
        let rate: Double
        /// How many of its handlers ran at once, on average.
        let busy: Double
    }

    let status: AgentStatus
    /// The previous status, and the seconds since.
    var previous: (status: AgentStatus, seconds: Double)?
    var order = Order.busy
    var size = ScreenSize(columns: 80, rows: 24)
    /// A message on the last line; nil omits it.
    var note: String?

    var rows: [Row] {
        // After a restart the counts start again.
        let earlier = previous.flatMap { previous in
            previous.status.since == status.since || previous.status.process == status.process
                ? previous.status.routes : nil
        }
        let before = Dictionary(
            (earlier ?? []).map { (ExactText($0.id), $0) }, uniquingKeysWith: { first, _ in first })
        let rows = status.routes.map { row($0, before[ExactText($0.id)]) }
        return rows.sorted { left, right in
            let (one, other) = (value(left), value(right))
            return one == other ? left.route.id < right.route.id : one > other
        }
    }

    private func row(_ route: AgentStatus.Route, _ before: AgentStatus.Route?) -> Row {
        let seconds = before == nil ? Double(max(status.uptime, 1)) : max(previous?.seconds ?? 1, 0.001)
        let runs = route.handled + route.failed - (before.map { $0.handled + $0.failed } ?? 0)
        let handling = route.handlingSeconds - (before?.handlingSeconds ?? 0)
        return Row(route: route, rate: Double(max(runs, 0)) / seconds, busy: max(handling, 0) / seconds)
    }

    private func value(_ row: Row) -> Double {
        switch order {
        case .busy: row.busy
        case .rate: row.rate
        case .failed: Double(row.route.failed)
        case .wait: row.route.waitedP99 ?? -1
        case .name: 0
        }
    }

    var lines: [String] {
        let text = StatusText(status: status, width: size.columns)
        var top = text.head + text.facts
        // Half of the screen at most, so that routes are visible.
        let most = max(min(size.rows / 2, size.rows - 4), 2)
        if top.count > most { top = top.prefix(most - 1) + ["… 'kiipush status' says the rest"] }
        let room = max(size.rows - top.count - (note == nil ? 2 : 3), 1)
        let (rows, routes) = (rows, table)
        var table = [routes.header] + rows.prefix(room).map { routes.line($0.route.id, Self.cells($0)) }
        if rows.count > room, rows.count > 1 {
            table[table.count - 1] = "… \(rows.count - room + 1) more routes"
        }
        let all = top + [""] + table + (note.map { [$0] } ?? [])
        return all.map { Figures.column($0, min($0.count, size.columns)) }
    }

    var header: String { table.header }

    private var table: RouteTable {
        let columns = [
            ("BUSY", 6), ("/S", 7), ("HANDLED", 10), ("FAILED", 7), ("PACED", 6), ("P50", 7), ("P99", 7), ("WAIT99", 8),
        ]
        return RouteTable(columns, of: status.routes, width: size.columns)
    }

    private static func cells(_ row: Row) -> [String] {
        let route = row.route
        return [
            "\(Int64((row.busy * 100).rounded()))%", Figures.short(row.rate), Figures.count(route.handled),
            Figures.count(route.failed), Figures.count(route.paced), Figures.time(route.p50), Figures.time(route.p99),
            Figures.time(route.waitedP99),
        ]
    }
}
