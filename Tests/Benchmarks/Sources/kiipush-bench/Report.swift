/// All that was measured, as a table or as JSON.
struct Report {
    var rows: [Row] = []
    var tails: [Tail] = []
    var seenKeys: [SeenKeysReport] = []
    var rules: RulesReport?

    var text: String {
        var lines = [line("per message", "best ns", "median ns", "allocations")]
        for row in rows {
            lines.append(
                line(
                    row.name, decimal(row.bestNanoseconds, 1), decimal(row.medianNanoseconds, 1),
                    row.allocations.map { decimal($0, 2) } ?? ""))
        }
        lines += tails.map { tail in
            "\(tail.name), each message: median \(decimal(tail.median, 0)) ns, 99 % \(decimal(tail.p99, 0)), "
                + "99.9 % \(decimal(tail.p999, 0)), longest \(decimal(tail.longest, 0)); "
                + "99.9 % to the median: \(decimal(tail.p999 / tail.median, 1))"
        }
        if !seenKeys.isEmpty { lines.append("") }
        lines += seenKeys.map { store in
            "a store full of \(store.keys) messages: \(decimal(store.megabytes, 1)) MB, "
                + "begin \(decimal(store.nanosecondsToBegin, 1)) ns, commit \(decimal(store.nanosecondsToCommit, 1)) ns, "
                + "longest pause while it fills \(decimal(store.longestPauseInMicroseconds, 1)) µs"
        }
        if let rules {
            lines += [
                "",
                "a file of \(rules.rules) rules with tests, \(decimal(rules.megabytes, 1)) MB: "
                    + "read \(decimal(rules.millisecondsToRead, 1)) ms, load \(decimal(rules.millisecondsToLoad, 1)) ms",
            ]
        }
        return lines.joined(separator: "\n")
    }

    var json: String {
        let stages = rows.map { row in
            #"{"stage":"\#(row.name.trimmed)","bestNanoseconds":\#(decimal(row.bestNanoseconds, 1)),"#
                + #""medianNanoseconds":\#(decimal(row.medianNanoseconds, 1)),"allocations":\#(row.allocations.map { decimal($0, 2) } ?? "null")}"#
        }
        let tails = tails.map { tail in
            #"{"name":"\#(tail.name)","median":\#(decimal(tail.median, 1)),"p99":\#(decimal(tail.p99, 1)),"#
                + #""p999":\#(decimal(tail.p999, 1)),"longest":\#(decimal(tail.longest, 1))}"#
        }
        let stores = seenKeys.map { store in
            #"{"keys":\#(store.keys),"megabytes":\#(decimal(store.megabytes, 1)),"#
                + #""beginNanoseconds":\#(decimal(store.nanosecondsToBegin, 1)),"#
                + #""commitNanoseconds":\#(decimal(store.nanosecondsToCommit, 1)),"#
                + #""longestPauseMicroseconds":\#(decimal(store.longestPauseInMicroseconds, 1))}"#
        }
        let rules = self.rules.map { rules in
            #"{"rules":\#(rules.rules),"megabytes":\#(decimal(rules.megabytes, 1)),"#
                + #""readMilliseconds":\#(decimal(rules.millisecondsToRead, 1)),"#
                + #""loadMilliseconds":\#(decimal(rules.millisecondsToLoad, 1))}"#
        }
        return #"{"stages":[\#(stages.joined(separator: ","))],"tails":[\#(tails.joined(separator: ","))],"#
            + #""seenKeys":[\#(stores.joined(separator: ","))],"#
            + #""rules":\#(rules ?? "null")}"#
    }
}

extension HostileReport {
    var text: String {
        var lines = [line("per byte", width: 64, "bytes", "ns", "times the ordinary")]
        for row in [ordinary] + rows {
            let mark = ratio(row) > Self.bound ? " !" : ""
            lines.append(
                line(
                    row.name + mark, width: 64, "\(row.bytes)", decimal(row.nanosecondsPerByte, 2),
                    decimal(ratio(row), 1)))
        }
        return lines.joined(separator: "\n")
    }

    var json: String {
        let shapes = rows.map { row in
            #"{"shape":"\#(row.name)","bytes":\#(row.bytes),"#
                + #""nanosecondsPerByte":\#(decimal(row.nanosecondsPerByte, 2)),"ratio":\#(decimal(ratio(row), 1))}"#
        }
        return #"{"ordinaryNanosecondsPerByte":\#(decimal(ordinary.nanosecondsPerByte, 2)),"#
            + #""bound":\#(decimal(Self.bound, 0)),"shapes":[\#(shapes.joined(separator: ","))]}"#
    }
}

private func line(_ name: String, width: Int = 30, _ columns: String...) -> String {
    let first = name + String(repeating: " ", count: max(0, width - name.count))
    return columns.reduce(first) { $0 + String(repeating: " ", count: max(1, 13 - $1.count)) + $1 }
}

/// A number with `digits` digits behind the point; `String(format:)` would bring Foundation in.
private func decimal(_ value: Double, _ digits: Int) -> String {
    let factor = (0..<digits).reduce(1) { power, _ in power * 10 }
    let scaled = Int((value * Double(factor)).rounded())
    let fraction = String(abs(scaled) % factor)
    if digits == 0 { return "\(scaled)" }
    return "\(scaled < 0 ? "-" : "")\(abs(scaled) / factor)." + String(repeating: "0", count: digits - fraction.count)
        + fraction
}

extension String {
    /// The text without the spaces that indent it in the table.
    fileprivate var trimmed: String { String(drop { $0 == " " }) }
}
