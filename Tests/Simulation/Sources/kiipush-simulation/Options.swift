import Glibc
import KiiPushTesting

/// What the command line asks for.
struct Options {
    var isJSON = false
    var adversary: AdversaryOptions?
    var plan = Plan(isQuick: false, devices: nil)

    enum Problem: Error {
        case help
        case wrong(String)
    }

    static let usage = """
        usage: kiipush-simulation [--quick | --storm] [--devices N] [--format text|json] [--help]
               kiipush-simulation --adversary [--seeds N] [--rounds N] [--cost N] [--seed PATH]
               kiipush-simulation --honest [--seeds N] [--seed N]

        Runs loops through fleets of devices, once with each layer of the loop guard, and honest traffic; exit 1 when a
        bound did not hold.

          --quick      the smaller half of it, for each check
          --storm      only one loop of a thousand devices that do nothing for it, up to its end: tens of millions of
                       messages, some minutes and gigabytes
          --devices N  only fleets of so many devices, and no honest traffic
          --format     text: a table; json: one object a line for each run
          --adversary  looks for loops that are handled more often than the bounds say: so many random ones (--seeds),
                       then so many rounds of changes to the worst; --seed runs one, such as 93.2, and prints its minutes
          --cost N     about how many deliveries a loop may take; a seed means the same only with the same cost
          --honest     honest streams, bursts, imports and wake-ups, so many seeds of each
        """

    static func read(_ arguments: [String]) -> Result<Options, Problem> {
        var options = Options()
        var isQuick = false
        var isStorm = false
        var devices: Int?
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--help", "-h": return .failure(.help)
            case "--quick": isQuick = true
            case "--adversary": options.adversary = AdversaryOptions()
            case "--honest": options.adversary = AdversaryOptions(isHonest: true)
            case "--seed", "--seeds", "--rounds", "--cost":
                guard options.adversary?.read(argument, rest.popFirst() ?? "") == true else {
                    return .failure(.wrong("\(argument) takes a number, and comes behind --adversary or --honest"))
                }
            case "--storm": isStorm = true
            case "--devices":
                guard let count = rest.popFirst().flatMap({ Int($0) }), (1...10_000).contains(count) else {
                    return .failure(.wrong("--devices takes a number from 1 to 10000"))
                }
                devices = count
            case "--format":
                guard let format = rest.popFirst(), ["text", "json"].contains(format) else {
                    return .failure(.wrong("--format takes text or json"))
                }
                options.isJSON = format == "json"
            default: return .failure(.wrong("unknown option '\(argument)'"))
            }
        }
        options.plan = isStorm ? .storm(devices ?? 1000) : Plan(isQuick: isQuick, devices: devices.map { [$0] })
        return .success(options)
    }
}

/// Writes to standard error by its number: glibc's `stderr` is a variable, which Swift 6 takes for unsafe.
func complain(_ text: String) {
    let line = Array("kiipush-simulation: \(text)\n".utf8)
    _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

/// Runs the search alone, or one adversary.
struct AdversaryOptions {
    var isHonest = false
    var path: [UInt64] = []
    var seeds = 200
    var rounds = 4
    var cost = 150_000

    /// Reads the value of one of its options; false where it is none.
    mutating func read(_ option: String, _ text: String) -> Bool {
        if option == "--seed" {
            let numbers = text.split(separator: ".", omittingEmptySubsequences: false).map { UInt64($0) }
            path = numbers.compactMap { $0 }
            return path.count == numbers.count
        }
        guard let number = Int(text), number >= 0 else { return false }
        switch option {
        case "--seeds": seeds = number
        case "--rounds": rounds = number
        default: cost = number
        }
        return true
    }

    func run() async {
        if isHonest { return await runHonest() }
        if !path.isEmpty {
            complain("\(Search.adversary(path, mostCost: cost))")
            let found = await Search.run(path, mostCost: cost)
            Self.show(found)
            return print("a minute:", found.result.timeline.prefix(60).map { "\($0)" }.joined(separator: " "))
        }
        var search = Search()
        (search.seeds, search.rounds, search.mostCost) = (seeds, rounds, cost)
        await search.search()
        for (_, found) in search.worst.sorted(by: { $0.key < $1.key }) { Self.show(found) }
        print("misses:")
        for found in search.misses.sorted(by: { $0.share > $1.share }).prefix(40) { Self.show(found) }
        print("\(search.runs) runs, \(search.deliveries) deliveries, \(search.misses.count) misses")
    }

    private func runHonest() async {
        let work = HonestPattern.all.flatMap { pattern in
            (path.isEmpty ? Array(1...UInt64(seeds)) : path).map { HonestRun(pattern: pattern, seed: $0) }
        }
        print(HonestFleet.titles)
        for pattern in HonestPattern.all {
            let own = work.filter { $0.pattern == pattern }
            let results = await inParallel(own) { await $0.run() }
            print(HonestFleet(pattern: pattern, results: zip(own, results).map { ($0.0.seed, $0.1) }).line)
            fflush(nil)
        }
    }

    static func show(_ found: Search.Found) {
        let result = found.result
        print(
            "\(result.handled) of \(found.adversary.bound)", found.name, "\(found.adversary)",
            "honest \(result.honest), lost \(result.honestLost), latest \(Int(result.latest)) s, \(result.deliveries)",
            "deliveries,", result.stop.rawValue, result.seconds)
    }
}
