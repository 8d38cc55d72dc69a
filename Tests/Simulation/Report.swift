import KiiPush
import KiiPushTesting

/// The runs, as a table or as one JSON object for each line.
struct Report {
    let loops: [(run: LoopRun, cells: [LoopRun.Cell])]
    let honest: [(traffic: HonestTraffic, result: HonestTraffic.Result)]

    /// The failed expectations, each with its run.
    var broken: [String] {
        loops.flatMap { run, cells in
            cells.flatMap { cell in cell.broken.map { "\(run.title), \(cell.protection.rawValue): \($0)" } }
        } + honest.flatMap { traffic, result in result.broken.map { "honest traffic, \(traffic.network): \($0)" } }
    }

    // MARK: Text

    var text: String {
        let titles = ["loop", "keys", "devices", "network"] + Protection.allCases.map(\.rawValue) + ["bound"]
        let rows = loops.map { run, cells in
            [run.loop.rawValue, run.keyName, "\(run.devices)", run.networkAndTime]
                + Protection.allCases.map { protection in
                    cells.first { $0.protection == protection }.map(Self.text) ?? ""
                } + [cells.first { $0.protection == .careless }?.bound.map { "\($0)" } ?? ""]
        }
        let deliveries =
            loops.reduce(0) { $0 + $1.cells.reduce(0) { $0 + $1.report.deliveries } }
            + honest.reduce(0) { $0 + $1.result.report.deliveries }
        let count = loops.reduce(honest.count) { $0 + $1.cells.count }
        return """
            Messages of one cause that a device handled, at most, within an hour: one write from outside, then the loop.

            \(table(titles, rows))

            > so many by the time it was cut off; xN: by how much each generation outnumbered the one before.
            ~ still there after the hour, but waiting: held, and probed at most once a cool-down; or slow.
            kill: thrown when the loop was cut off; not one message was handled after it.
            careless: all layers, but handlers that announce nothing and stamp nothing; bound: what was asserted of it.

            Honest traffic, with all layers: 1,000 objects at once, 1,000 senders at once, one object each second.

            \(table(Self.honestTitles, honest.map(Self.honestRow)))

            \(deliveries) messages delivered in \(count) runs; \(broken.isEmpty ? "every bound held" : "see below")
            """
    }

    private static func text(_ cell: LoopRun.Cell) -> String {
        let report = cell.report
        switch report.stop {
        // A large fleet that is cut off in the second generation has not shown its growth.
        case .cap where report.devices > 100: return "> \(report.mostHandled)"
        case .cap: return "> \(report.mostHandled) x\(rounded(report.growth ?? 1))"
        // The kill ends a loop that was cut off before.
        case .quiet: return cell.protection == .killSwitch ? "\(report.mostHandled), 0" : "\(report.mostHandled)"
        case .timeOver: return "\(report.mostHandled) ~"
        }
    }

    private static func rounded(_ value: Double) -> String {
        value == value.rounded() ? "\(Int(value))" : "\((value * 10).rounded() / 10)"
    }

    private static let honestTitles = [
        "devices", "network", "delivered", "copies", "handled", "lost", "stopped", "held", "released", "longest hold",
        "jumps",
    ]

    private static func honestRow(_ traffic: HonestTraffic, _ result: HonestTraffic.Result) -> [String] {
        let report = result.report
        let hold = (report.longestHold / .milliseconds(100)).rounded() / 10
        return [
            "\(traffic.devices)", traffic.network, "\(report.deliveries)", "\(report.count("duplicate"))",
            "\(report.handled)", "\(report.unhandled)", "\(report.stopped)", "\(report.held)", "\(report.released)",
            "\(hold) s", "\(report.jumps)",
        ]
    }

    private func table(_ titles: [String], _ rows: [[String]]) -> String {
        let all = [titles] + rows
        let widths = titles.indices.map { column in all.map { $0[column].utf8.count }.max() ?? 0 }
        let lines = all.map { row in
            let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.utf8.count) }
            return "| " + cells.joined(separator: " | ") + " |"
        }
        let line = "|" + widths.map { String(repeating: "-", count: $0 + 2) }.joined(separator: "|") + "|"
        return ([lines[0], line] + lines.dropFirst()).joined(separator: "\n")
    }

    // MARK: JSON

    var json: String {
        let runs = loops.flatMap { run, cells in
            cells.map { cell in
                Self.object(
                    [
                        ("loop", "\"\(run.loop.rawValue)\""), ("keys", "\"\(run.keyName)\""),
                        ("network", "\"\(run.network)\""), ("protection", "\"\(cell.protection.rawValue)\""),
                        ("bound", cell.bound.map { "\($0)" } ?? "null"),
                    ], cell.report, cell.broken)
            }
        }
        let traffic = honest.map { traffic, result in
            Self.object(
                [("traffic", "\"honest\""), ("network", "\"\(traffic.network)\"")], result.report, result.broken)
        }
        return (runs + traffic).joined(separator: "\n")
    }

    private static func object(_ first: [(String, String)], _ report: FleetReport, _ broken: [String]) -> String {
        let outcomes = report.outcomes.filter { $0.messages > 0 }
            .map { "\"\($0.outcome)\($0.reason.map { " \($0)" } ?? "")\":\($0.messages)" }
        let numbers: [(String, Int)] = [
            ("devices", report.devices), ("causes", report.causes), ("events", report.events),
            ("deliveries", report.deliveries), ("handled", report.handled), ("mostHandled", report.mostHandled),
            ("handledTwice", report.handledTwice), ("unhandled", report.unhandled), ("stopped", report.stopped),
            ("held", report.held), ("released", report.released), ("lost", report.lost),
            ("duplicated", report.duplicated), ("redelivered", report.redelivered), ("givenUp", report.givenUp),
            ("failedWrites", report.failedWrites), ("jumps", report.jumps),
        ]
        let members =
            first + [("stop", "\"\(report.stop.rawValue)\""), ("seconds", "\(report.seconds)")]
            + numbers.map { ($0, "\($1)") } + [
                ("longestHold", "\(report.longestHold / .seconds(1))"),
                ("growth", report.growth.map { "\($0)" } ?? "null"),
                ("generations", "[\(report.eventsByGeneration.prefix(20).map { "\($0)" }.joined(separator: ","))]"),
                ("outcomes", "{\(outcomes.joined(separator: ","))}"),
                ("broken", "[\(broken.map { "\"\($0)\"" }.joined(separator: ","))]"),
            ]
        return "{" + members.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
    }
}
