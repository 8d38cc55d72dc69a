/// All that was measured, as a table or as JSON.
struct Report {
    var rows: [Row] = []
    var seenKeys: [SeenKeysReport] = []

    var text: String {
        var lines = [line("per message", "best ns", "median ns", "allocations")]
        for row in rows {
            lines.append(
                line(
                    row.name, decimal(row.bestNanoseconds, 1), decimal(row.medianNanoseconds, 1),
                    decimal(row.allocations, 2)))
        }
        if !seenKeys.isEmpty { lines.append("") }
        lines += seenKeys.map { store in
            "a store full of \(store.keys) messages: \(decimal(store.megabytes, 1)) MB, "
                + "begin \(decimal(store.nanosecondsToBegin, 1)) ns, commit \(decimal(store.nanosecondsToCommit, 1)) ns, "
                + "longest pause while it fills \(decimal(store.longestPauseInMicroseconds, 1)) µs"
        }
        return lines.joined(separator: "\n")
    }

    var json: String {
        let stages = rows.map { row in
            #"{"stage":"\#(row.name.trimmed)","bestNanoseconds":\#(decimal(row.bestNanoseconds, 1)),"#
                + #""medianNanoseconds":\#(decimal(row.medianNanoseconds, 1)),"allocations":\#(decimal(row.allocations, 2))}"#
        }
        let stores = seenKeys.map { store in
            #"{"keys":\#(store.keys),"megabytes":\#(decimal(store.megabytes, 1)),"#
                + #""beginNanoseconds":\#(decimal(store.nanosecondsToBegin, 1)),"#
                + #""commitNanoseconds":\#(decimal(store.nanosecondsToCommit, 1)),"#
                + #""longestPauseMicroseconds":\#(decimal(store.longestPauseInMicroseconds, 1))}"#
        }
        return #"{"stages":[\#(stages.joined(separator: ","))],"seenKeys":[\#(stores.joined(separator: ","))]}"#
    }

    private func line(_ name: String, _ columns: String...) -> String {
        let first = name + String(repeating: " ", count: max(0, 30 - name.count))
        return columns.reduce(first) { $0 + String(repeating: " ", count: max(1, 13 - $1.count)) + $1 }
    }
}

/// A number with `digits` digits behind the point; `String(format:)` would bring Foundation in.
private func decimal(_ value: Double, _ digits: Int) -> String {
    let factor = (0..<digits).reduce(1) { power, _ in power * 10 }
    let scaled = Int((value * Double(factor)).rounded())
    let fraction = String(abs(scaled) % factor)
    return "\(scaled < 0 ? "-" : "")\(abs(scaled) / factor)." + String(repeating: "0", count: digits - fraction.count)
        + fraction
}

extension String {
    /// The text without the spaces that indent it in the table.
    fileprivate var trimmed: String { String(drop { $0 == " " }) }
}
