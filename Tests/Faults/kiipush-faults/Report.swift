/// What came of one fault.
struct Row {
    var fault: String
    /// How often it happened.
    var runs = 0
    var messages = 0
    var lost = 0
    /// How often a message was handled that had been before, all of them in flight at a kill.
    var twice = 0
    var letters = 0
    var seconds = 0.0
    /// What did not hold.
    var broken: [String] = []

    init(fault: String) { self.fault = fault }

    /// Adds what came of the same fault planted elsewhere.
    mutating func add(_ other: Row) {
        runs += other.runs
        messages += other.messages
        lost += other.lost
        twice += other.twice
        letters += other.letters
        seconds += other.seconds
        broken += other.broken
    }
}

/// The rows as a table.
func table(_ rows: [Row]) -> String {
    let titles = ["fault", "runs", "messages", "lost", "handled twice", "letters", "seconds"]
    let cells = rows.map { row in
        [
            row.fault, "\(row.runs)", "\(row.messages)", "\(row.lost)", "\(row.twice)", "\(row.letters)",
            "\((row.seconds * 10).rounded() / 10)",
        ]
    }
    return table(titles, cells)
}

/// Rows of cells as a table; numbers are aligned on the right.
func table(_ titles: [String], _ cells: [[String]], textColumns: Set<Int> = [0]) -> String {
    let widths = titles.indices.map { column in ([titles] + cells).map { $0[column].count }.max() ?? 0 }
    let lines = ([titles] + cells).map { row in
        let padded = row.indices.map { column in
            let space = String(repeating: " ", count: widths[column] - row[column].count)
            return textColumns.contains(column) ? row[column] + space : space + row[column]
        }
        return "| " + padded.joined(separator: " | ") + " |"
    }
    let rule =
        "|"
        + widths.indices.map { column in
            String(repeating: "-", count: widths[column] + 1) + (textColumns.contains(column) ? "-" : ":")
        }.joined(separator: "|") + "|"
    return ([lines[0], rule] + lines.dropFirst()).joined(separator: "\n")
}
