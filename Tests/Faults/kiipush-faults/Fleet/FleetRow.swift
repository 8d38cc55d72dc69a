/// What came of one kind of handler.
struct FleetRow {
    let handler: String
    /// What was measured, in the order of the columns.
    private(set) var cells: [(title: String, text: String)] = []
    /// What has to hold.
    var bound = ""
    /// What did not hold.
    var broken: [String] = []

    init(_ handler: String) { self.handler = handler }

    mutating func note(_ title: String, _ number: Int) { cells.append((title, "\(number)")) }
}

extension FleetRow {
    /// The rows as tables, one of all rows that follow each other with the same columns.
    static func tables(_ rows: [FleetRow]) -> String {
        var tables: [[FleetRow]] = []
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

    private static func table(_ rows: [FleetRow]) -> String {
        let titles = ["handler"] + rows[0].cells.map(\.title) + ["bound", "holds"]
        let cells = rows.map { row in
            [row.handler] + row.cells.map(\.text) + [row.bound, row.broken.isEmpty ? "yes" : "NO"]
        }
        return kiipush_faults.table(titles, cells, textColumns: [0, titles.count - 2, titles.count - 1])
    }
}
