/// All seeds of a pattern.
struct HonestFleet {
    let pattern: HonestPattern
    let results: [(seed: UInt64, result: HonestRun.Result)]

    var latest: [Double] { results.map(\.result.latest).sorted() }
    func quantile(_ share: Double) -> Double {
        latest.isEmpty ? 0 : latest[min(Int(share * Double(latest.count)), latest.count - 1)]
    }

    /// The seeds with messages that were too late; later than a minute; lost; and late again.
    var tooLate: [UInt64] { results.filter { $0.result.latest > pattern.mostLate }.map(\.seed) }
    var deceived: [UInt64] { results.filter { $0.result.latest > 60 }.map(\.seed) }
    var lossy: [UInt64] { results.filter { $0.result.lost > 0 }.map(\.seed) }
    var lateAgain: [UInt64] { results.filter { $0.result.times > 1 }.map(\.seed) }

    /// The share of messages that were late by a second at most.
    var paused: Double {
        let (paused, messages) = results.reduce((0, 0)) { ($0.0 + $1.result.paused, $0.1 + $1.result.messages) }
        return Double(paused) / Double(max(messages, 1))
    }

    var line: String {
        func list(_ seeds: [UInt64]) -> String {
            seeds.isEmpty ? "0" : "\(seeds.count) (\(seeds.prefix(4).map { "\($0)" }.joined(separator: " ")))"
        }
        return [
            pattern.name, "\(results.reduce(0) { $0 + $1.result.messages })", tenth(quantile(0.5)),
            tenth(quantile(0.99)), tenth(latest.last ?? 0), list(tooLate), list(deceived), list(lateAgain), list(lossy),
            "\(tenth(paused * 100)) %",
        ].joined(separator: " | ")
    }

    static let titles =
        "pattern | messages | latest: median | 99 % | most | too late (seeds) | over 60 s | late again | lost | paused"
}

/// A number with one decimal.
func tenth(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }

/// The patterns in one row of the guide's table.
struct HonestRow {
    let name: String
    let fleets: [HonestFleet]

    static func all(_ fleets: [HonestFleet]) -> [HonestRow] {
        var rows: [HonestRow] = []
        for fleet in fleets {
            let name = fleet.pattern.row
            if rows.contains(where: { $0.name == name }) { continue }
            rows.append(HonestRow(name: name, fleets: fleets.filter { $0.pattern.row == name }))
        }
        return rows
    }

    var line: String {
        let medians = fleets.map { tenth($0.quantile(0.5)) }.sorted { (Double($0) ?? 0) < (Double($1) ?? 0) }
        let (least, most) = (medians.first ?? "", medians.last ?? "")
        let worst = tenth(fleets.compactMap(\.latest.last).max() ?? 0)
        return "| \(name) | \(least == most ? "" : "\(least) to ")\(most) s | \(worst) s |"
    }
}

extension HonestPattern {
    fileprivate var row: String {
        switch self {
        case .stream(let pace, _) where pace <= 20: "one object, 0.1 to 20 changes a second, regular or by chance"
        case .stream: "one object, 50 to 200 changes a second, regular or by chance"
        case .lasting: "one object, 0.5 to 10 changes a second by chance, for two hours"
        case .changing: "one object, 0.5 to 5 changes a second, the pace changes each three minutes, for two hours"
        case .newObjects: "a new object of one bucket each time, 0.1 to 200 a second"
        case .manyObjects(let pace) where pace <= 20: "fifty objects of ten buckets, 0.1 to 20 changes a second in all"
        case .manyObjects: "fifty objects of ten buckets, 50 to 200 changes a second in all"
        case .burst: "60 or 400 changes at once, with 0 to 50 a second behind them"
        case .clusters: "one object, 1 or 5 changes a second on average, in clusters of 3 to 20"
        case .growing: "one object, from 0.5 to 20 changes a second within 20 to 300 seconds"
        case .importing: "5,000 new objects of a bucket, 200 a second"
        case .wakeUps: "what ten minutes brought at once, after each sleep"
        }
    }
}
