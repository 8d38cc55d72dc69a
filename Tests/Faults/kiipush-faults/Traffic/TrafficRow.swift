/// What came of one kind of traffic.
struct TrafficRow: Sendable {
    let traffic: String
    /// What was measured, in the order of the columns.
    private(set) var cells: [(title: String, text: String)] = []
    /// What has to hold.
    var bound = ""
    /// What did not hold.
    var broken: [String] = []

    init(_ traffic: String) { self.traffic = traffic }

    mutating func note(_ title: String, _ text: String) { cells.append((title, text)) }

    mutating func note(_ title: String, _ number: Int?) { note(title, number.map { "\($0)" } ?? "?") }

    /// Notes what the agent's stores have, and asks it to stop.
    ///
    /// - Returns: how many messages are dead letters and how many payloads the inbox has; nil what the agent did not
    ///   say.
    @discardableResult
    mutating func close(_ cloud: Cloud, _ streams: Stream...) throws -> (letters: Int?, waiting: Int?) {
        let letters = try cloud.letters()?.messages
        let waiting = cloud.agent.waiting
        note("dead letters", letters)
        note("in inbox", waiting)
        let twice = streams.reduce(0) { $0 + $1.twice }
        if twice > 0 { broken.append("\(twice) were handled twice") }
        try stop(cloud)
        return (letters, waiting)
    }

    /// Asks the agent to stop; it has to end with exit code 0.
    mutating func stop(_ cloud: Cloud) throws {
        let (end, seconds) = try cloud.stop()
        note("SIGTERM", "\(end.map { "\($0)" } ?? "killed") in \(seconds.text(1)) s")
        if end != .exited(0) {
            broken.append("SIGTERM: \(end.map { "\($0)" } ?? "did not end in \(seconds.text(0)) s")")
        }
    }
}

extension TrafficRow {
    /// The rows as tables, one of all rows that follow each other with the same columns.
    static func tables(_ rows: [TrafficRow]) -> String {
        var tables: [[TrafficRow]] = []
        for row in rows {
            let titles = row.cells.map(\.title)
            if tables.last?[0].cells.map(\.title) == titles {
                tables[tables.count - 1].append(row)
            } else {
                tables.append([row])
            }
        }
        return tables.map { table($0) }.joined(separator: "\n\n")
    }

    private static func table(_ rows: [TrafficRow]) -> String {
        let titles = ["traffic"] + rows[0].cells.map(\.title) + ["bound", "holds"]
        let cells = rows.map { row in
            [row.traffic] + row.cells.map(\.text) + [row.bound, row.broken.isEmpty ? "yes" : "NO"]
        }
        return kiipush_faults.table(titles, cells, textColumns: [0, titles.count - 2, titles.count - 1])
    }
}
