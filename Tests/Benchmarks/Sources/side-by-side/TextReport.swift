/// The results as tables for a terminal.
struct TextReport {
    private let results: Results

    init(_ results: Results) { self.results = results }

    var text: String {
        let parts = [
            heading, sample, scale("nanoseconds a message, 100 routes; by bytes of the payload", results.sizes, size),
            scale("nanoseconds a message of 227 bytes; by routes", results.routes) { figure($0) },
            stages, seenKeys, starts, goals,
        ]
        return parts.joined(separator: "\n\n")
    }

    private var heading: String {
        let place = results.core.map { "all on core \($0) but where two are asked for" } ?? "not bound to a core"
        let left = results.leftOut.map { "left out: \($0.peer): \($0.reason)" }
        let machine = "\(results.machine.processor), \(results.machine.cores) cores"
        let first = "\(machine); \(results.rounds) rounds, in turn; \(place)"
        let busy = results.wasBusy ? ["the machine had other work meanwhile: a load of \(figure(results.load))"] : []
        return ([first, results.versions.joined(separator: "; ")] + busy + left).joined(separator: "\n")
    }

    // MARK: Beside others

    private var sample: String {
        var table = Table(["227 bytes, 100 routes; ns a message", "median", "fastest", "slowest", "to KiiPush"])
        for role in [Program.Role.receiver, .parser] {
            table.add([role == .receiver ? "whole receivers" : "parsers alone"])
            let rows = results.sample.filter { $0.role == role }
            for row in rows.sorted(by: { $0.nanoseconds.median < $1.nanoseconds.median }) {
                let times = ratio(row.nanoseconds.median, to: results.ours)
                table.add(["  " + row.title] + spread(row.nanoseconds) + [times])
            }
        }
        return table.text
    }

    private func spread(_ samples: Samples) -> [String] {
        [figure(samples.median), figure(samples.least), figure(samples.most)]
    }

    /// One line a program, one column a place of the scale.
    private func scale(_ title: String, _ points: [Results.Point], _ name: (Int) -> String) -> String {
        let places = Set(points.map(\.at)).sorted()
        var table = Table([title] + places.map(name))
        var titles: [String] = []
        for point in points where !titles.contains(point.title) { titles.append(point.title) }
        for title in titles {
            let own = points.filter { $0.title == title }
            table.add(
                [title]
                    + places.map { place in
                        own.first { $0.at == place }.map { figure($0.nanoseconds.median) } ?? "-"
                    })
        }
        return table.text
    }

    // MARK: Ours

    private var stages: String {
        var table = Table(["KiiPush's stages; ns a message", "median", "fastest", "slowest", "allocations"])
        for stage in results.stages {
            table.add(
                [stage.name] + spread(stage.nanoseconds) + [stage.allocations.map { figure($0, digits: 2) } ?? ""])
        }
        return table.text
    }

    private var seenKeys: String {
        var table = Table(["seen keys", "MB", "begin ns", "commit ns", "longest pause µs"])
        for row in results.seenKeys {
            table.add([
                figure(row.keys), figure(row.megabytes.median), figure(row.beginNanoseconds.median),
                figure(row.commitNanoseconds.median), figure(row.longestPauseMicroseconds.median),
            ])
        }
        return table.text
    }

    private var starts: String {
        let title = "start to first message; receivers: to their end"
        var table = Table([title, "median ms", "fastest", "slowest", "resident MB"])
        for start in results.starts {
            let resident = start.residentMegabytes.values.isEmpty ? "" : figure(start.residentMegabytes.median)
            table.add([start.title] + spread(start.milliseconds) + [resident])
        }
        for binary in results.binaries {
            table.add(["\(binary.title), stripped: \(figure(Double(binary.bytes) / 1e6)) MB"])
        }
        return table.text
    }

    private var goals: String {
        var table = Table(["goals", "wanted", "measured", ""])
        for goal in Goal.all(results) {
            table.add([goal.what.filter { $0 != "`" }, goal.wanted, goal.measured, goal.verdict])
        }
        return table.text
    }
}

/// Rows of text: the first column to the left, the others to the right.
struct Table {
    private var rows: [[String]]

    init(_ heading: [String]) { rows = [heading] }

    mutating func add(_ row: [String]) { rows.append(row) }

    var text: String {
        let first = rows.map { $0[0].count }.max() ?? 0
        return rows.map { row in
            row.dropFirst().reduce(row[0] + String(repeating: " ", count: row.count > 1 ? first - row[0].count : 0)) {
                $0 + "  " + String(repeating: " ", count: max(0, 13 - $1.count)) + $1
            }
        }.joined(separator: "\n")
    }
}
