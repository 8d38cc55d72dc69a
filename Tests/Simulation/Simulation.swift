import Glibc

/// Runs loops and honest traffic through the real loop guard, or the service from seeds.
@main
struct Simulation {
    private static let usage = """
        usage: kiipush-simulation [--table] [--seeds N] [--from N] [--only WORDS]
               kiipush-simulation --service [--seeds N] [--first N]

          --table    honest traffic and loops through the loop guard and the lanes of a service, from so many seeds:
                     a row of each bound, and the most that was measured; exit 1 when a bound is exceeded
          --only     only the rows that begin with these words
          --service  the delivery service from one seed each: faults, crashes and stops, then peace; from seed --first
                     on so many; prints each seed that breaks a guarantee, and exits with 1
        """

    private var service: ServiceSeeds?
    private var (seeds, from, only) = (16, 1, "")

    static func main() async {
        var simulation = Simulation()
        var arguments = CommandLine.arguments.dropFirst()
        while let option = arguments.popFirst() {
            if option == "--help" { return print(usage) }
            guard simulation.read(option, &arguments) else {
                complain("wrong: \(option)\n\(usage)")
                exit(64)
            }
        }
        let isFine = if let service = simulation.service { await service.run() } else { await simulation.table() }
        if !isFine { exit(1) }
    }

    private mutating func read(_ option: String, _ rest: inout ArraySlice<String>) -> Bool {
        switch option {
        case "--table": return true
        case "--service":
            service = ServiceSeeds()
            return true
        case "--seeds", "--from", "--first", "--only":
            guard let value = rest.popFirst() else { return false }
            if service != nil { return option != "--only" && service?.read(option, value) == true }
            if option == "--only" {
                only = value
                return true
            }
            guard let number = Int(value), number > 0 else { return false }
            if option == "--seeds" { seeds = number } else { from = number }
            return true
        default: return false
        }
    }

    // MARK: The table

    /// Prints the table; returns whether each bound holds.
    private func table() async -> Bool {
        let rows = Row.all.filter { $0.words.hasPrefix(only) }
        let measured = await measure(rows)
        print("| what | bound | median | most | of |\n|---|--:|--:|--:|---|")
        var isFine = true
        for (row, values) in zip(rows, measured) {
            let sorted = values.sorted { $0.value < $1.value }
            guard let worst = sorted.last else { continue }
            let bound = row.bound.map { "\($0.shown) \(row.unit)" } ?? "none"
            let median = sorted[sorted.count / 2].value
            print("| \(row.words) | \(bound) | \(median.shown) | \(worst.value.shown) | \(worst.name) |")
            guard let most = row.bound, worst.value > most else { continue }
            isFine = false
            let over = values.count { $0.value > most }
            complain("\(row.words): \(worst.value.shown) by \(worst.name); \(over) of \(values.count) exceed \(bound)")
        }
        return isFine
    }

    /// What each row measured for all seeds.
    private func measure(_ rows: [Row]) async -> [[Measured]] {
        await withTaskGroup(of: [[Measured]].self) { group in
            for seed in from..<from + seeds { group.addTask { rows.map { Self.measure($0, seed) } } }
            return await group.reduce([[Measured]](repeating: [], count: rows.count)) { zip($0, $1).map { $0 + $1 } }
        }
    }

    private static func measure(_ row: Row, _ seed: Int) -> [Measured] {
        row.runs.enumerated().map { number, run in
            var dice = Dice(seed * 16 + number)
            guard let (value, name) = try? run(&dice) else { fatalError("a payload is not a message") }
            return (value, "seed \(seed): \(name)")
        }
    }
}

/// Writes to standard error by its number: glibc's `stderr` is a variable, which is unsafe in Swift 6.
func complain(_ text: String) {
    let line = Array("kiipush-simulation: \(text)\n".utf8)
    _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
}
