import KiiPush

/// What `kiipush top` shows: head, what is going on, and the routes, those first that cost most.
struct TopScreen {
    /// What routes are sorted by, the most first.
    enum Order: String, CaseIterable {
        /// How long handlers run, to the time that has passed.
        case busy
        /// How many messages come to a route in a second.
        case rate
        case failed
        /// How long messages wait.
        case wait
        /// The name, in the order of the alphabet.
        case name

        /// The key that sorts by it.
        var key: Character { rawValue.first ?? "?" }

        /// The order behind this one.
        var next: Order {
            let all = Self.allCases
            return all[((all.firstIndex(of: self) ?? 0) + 1) % all.count]
        }
    }

    /// A route with what it did a second since the last look, or since the agent began where there was none.
    struct Row: Equatable {
        let route: AgentStatus.Route
        /// Handlers that ended in a second.
        let rate: Double
        /// How many handlers of it ran at once, on average.
        let busy: Double
    }

    let status: AgentStatus
    /// The status at the look before, and how many seconds lie between.
    var previous: (status: AgentStatus, seconds: Double)?
    var order = Order.busy
    var size = ScreenSize(columns: 80, rows: 24)
    /// What is said of the screen itself on its last line; nil leaves that line out.
    var note: String?

    /// The routes in order.
    var rows: [Row] {
        let rows = status.routes.map { row($0) }
        return rows.sorted { left, right in
            let (one, other) = (value(left), value(right))
            return one == other ? left.route.id < right.route.id : one > other
        }
    }

    private func row(_ route: AgentStatus.Route) -> Row {
        // After a restart the counts begin anew.
        let before = previous.flatMap { previous in
            previous.status.since == status.since || previous.status.process == status.process
                ? previous.status.routes.first { $0.id == route.id } : nil
        }
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

    /// The lines of the screen, none wider and no more than there is room for.
    var lines: [String] {
        let text = StatusText(status: status, width: size.columns)
        var top = text.head + text.facts
        // Half of the screen at most, so that routes are seen.
        let most = max(min(size.rows / 2, size.rows - 4), 2)
        if top.count > most { top = top.prefix(most - 1) + ["… 'kiipush status' says the rest"] }
        let room = max(size.rows - top.count - (note == nil ? 2 : 3), 1)
        let rows = rows
        var table = [header] + rows.prefix(room).map(line)
        if rows.count > room, rows.count > 1 {
            table[table.count - 1] = "… \(rows.count - room + 1) more routes"
        }
        let all = top + [""] + table + (note.map { [$0] } ?? [])
        return all.map { Figures.column($0, min($0.count, size.columns)) }
    }

    /// The row that names the columns, as it stands among the lines.
    var header: String {
        Figures.column("ROUTE", name) + Self.columns.map { Figures.column($0.0, $0.1, isRight: true) }.joined()
    }

    private static let columns = [
        ("BUSY", 6), ("/S", 7), ("HANDLED", 10), ("FAILED", 7), ("HELD", 6), ("P50", 7), ("P99", 7), ("WAIT99", 8),
    ]

    private var name: Int {
        let rest = Self.columns.reduce(0) { $0 + $1.1 }
        return max(min(size.columns - rest, max(20, (status.routes.map(\.id.count).max() ?? 0) + 1)), 8)
    }

    private func line(_ row: Row) -> String {
        let route = row.route
        let cells = [
            "\(Int64((row.busy * 100).rounded()))%", Figures.short(row.rate), Figures.count(route.handled),
            Figures.count(route.failed), Figures.count(route.held), Figures.time(route.p50), Figures.time(route.p99),
            Figures.time(route.waitedP99),
        ]
        return Figures.column(route.id, name - 1) + " "
            + zip(cells, Self.columns).map { Figures.column($0, $1.1, isRight: true) }.joined()
    }
}
