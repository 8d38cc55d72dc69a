import Glibc
import KiiPushTesting

/// The options to run the search, one adversary, or honest traffic.
struct AdversaryOptions: OtherRun {
    var isHonest = false
    /// Only patterns of honest traffic whose name contains this; all if it is empty.
    var only = ""
    var path: [UInt64] = []
    var seeds = 200
    var rounds = 4
    var cost = 150_000
    /// How many loops may exceed their bounds.
    var allowed = 0

    /// Reads the value of one of its options; returns false if it is invalid.
    mutating func read(_ option: String, _ text: String) -> Bool {
        if option == "--only" {
            only = text
            return isHonest && !text.isEmpty
        }
        if option == "--seed" {
            let numbers = text.split(separator: ".", omittingEmptySubsequences: false).map { UInt64($0) }
            path = numbers.compactMap { $0 }
            return path.count == numbers.count
        }
        guard let number = Int(text), number >= 0 else { return false }
        switch option {
        case "--seeds": seeds = number
        case "--rounds": rounds = number
        case "--allow": allowed = number
        default: cost = number
        }
        return true
    }

    /// Runs it; returns whether every bound held.
    func run() async -> Bool {
        if isHonest { return await runHonest() }
        if !path.isEmpty {
            complain("\(Search.adversary(path, mostCost: cost))")
            let found = await Search.run(path, mostCost: cost)
            Self.show(found)
            print("a minute:", found.result.timeline.prefix(60).map { "\($0)" }.joined(separator: " "))
            return found.result.handled <= found.adversary.bound
        }
        var search = Search()
        (search.seeds, search.rounds, search.mostCost) = (seeds, rounds, cost)
        await search.search()
        for (_, found) in search.worst.sorted(by: { $0.key < $1.key }) { Self.show(found) }
        print("misses:")
        for found in search.misses.sorted(by: { $0.share > $1.share }).prefix(40) { Self.show(found) }
        let quick = search.misses.filter { !$0.adversary.isSlow }
        print("\(search.runs) runs, \(search.deliveries) deliveries, \(search.misses.count) misses,", terminator: " ")
        print("\(quick.count) of these with answers within a second, up to", terminator: " ")
        print("\(tenth(quick.map(\.share).max() ?? 0)) times the bound")
        return search.misses.count <= allowed
    }

    private func runHonest() async -> Bool {
        let patterns = HonestPattern.all.filter { only.isEmpty || $0.name.contains(only) }
        let work = patterns.flatMap { pattern in
            (path.isEmpty ? Array(1...UInt64(seeds)) : path).map { HonestRun(pattern: pattern, seed: $0) }
        }
        print(HonestFleet.titles)
        var fleets: [HonestFleet] = []
        for pattern in patterns {
            let own = work.filter { $0.pattern == pattern }
            let results = await inParallel(own) { await $0.run() }
            let fleet = HonestFleet(pattern: pattern, results: zip(own, results).map { ($0.0.seed, $0.1) })
            print(fleet.line)
            fflush(nil)
            fleets.append(fleet)
        }
        print("\n| traffic | latest message, median of the seeds | worst seed |\n|---|---|---|")
        for row in HonestRow.all(fleets) { print(row.line) }
        return fleets.allSatisfy { $0.lossy.isEmpty && ($0.deceived.isEmpty || !$0.pattern.isBounded) }
    }

    static func show(_ found: Search.Found) {
        let result = found.result
        print(
            "\(result.handled) of \(found.adversary.bound)", found.name, "\(found.adversary)",
            "honest \(result.honest), lost \(result.honestLost), latest \(Int(result.latest)) s, \(result.deliveries)",
            "deliveries,", result.stop.rawValue, result.seconds)
    }
}
