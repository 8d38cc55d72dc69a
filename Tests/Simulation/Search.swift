import KiiPushTesting

/// Searches for the adversary that gets most messages handled: many seeds, then changes of the worst so far.
struct Search {
    /// An adversary by its path: a seed, then the numbers of the changes, separated by dots.
    struct Found: Sendable {
        let path: [UInt64]
        let adversary: Adversary
        let result: AdversaryRun.Result

        var name: String { path.map { "\($0)" }.joined(separator: ".") }

        /// The fraction of its bound that it reaches.
        var share: Double { Double(result.handled) / Double(adversary.bound) }
    }

    /// A class of adversaries that is searched separately; the worst of each is kept.
    struct Class: Hashable, Comparable {
        let change: Int
        let isSlow: Bool

        init(_ adversary: Adversary) {
            change = LoopChange.allCases.firstIndex(of: adversary.change) ?? 0
            isSlow = adversary.isSlow
        }

        static func < (one: Class, other: Class) -> Bool {
            (one.isSlow ? 1 : 0, one.change) < (other.isSlow ? 1 : 0, other.change)
        }
    }

    /// The most that one run may cost, in deliveries.
    var mostCost = 150_000
    /// How many seeds, rounds of changes, and changes of the worst of a class in each round.
    var seeds = 200
    var rounds = 4
    var changes = 4

    private(set) var worst: [Class: Found] = [:]
    /// Those that exceeded their bound, and those that lost honest messages.
    private(set) var misses: [Found] = []
    private(set) var runs = 0
    private(set) var deliveries = 0

    init() {}

    static func adversary(_ path: [UInt64], mostCost: Int) -> Adversary {
        path.dropFirst().reduce(Adversary(seed: path[0], mostCost: mostCost)) {
            $0.mutated(seed: $1, mostCost: mostCost)
        }
    }

    static func run(_ path: [UInt64], mostCost: Int) async -> Found {
        let adversary = adversary(path, mostCost: mostCost)
        let run = AdversaryRun(name: "", adversary: adversary, cap: 5 * mostCost)
        let seed = path.reduce(0) { ($0 &* 1_000_003) &+ $1 }
        let start = ContinuousClock.now
        let result = await run.run(seed)
        let time = ContinuousClock.now - start
        if time > .seconds(5) {
            complain("\(path) took \(time): \(adversary), \(result.deliveries) deliveries, \(result.seconds) s")
        }
        return Found(path: path, adversary: adversary, result: result)
    }

    mutating func search() async {
        let most = mostCost
        note(await inParallel((1...UInt64(seeds)).map { [$0] }) { await Self.run($0, mostCost: most) })
        for round in 0..<rounds {
            let paths = worst.sorted { $0.key < $1.key }.flatMap { _, found in
                (0..<changes).map { found.path + [UInt64(round * changes + $0 + 1)] }
            }
            note(await inParallel(paths) { await Self.run($0, mostCost: most) })
        }
    }

    private mutating func note(_ all: [Found]) {
        for found in all {
            runs += 1
            deliveries += found.result.deliveries
            if found.result.handled > found.adversary.bound || found.result.honestLost > 0 { misses.append(found) }
            let kind = Class(found.adversary)
            if worst[kind].map({ $0.share < found.share }) ?? true { worst[kind] = found }
        }
    }
}

/// Does the work two at a time, and returns the results in the order of the work.
func inParallel<Work: Sendable, Result: Sendable>(
    _ work: [Work], _ body: @escaping @Sendable (Work) async -> Result
) async -> [Result] {
    await withTaskGroup(of: (Int, Result).self) { group in
        var results: [Int: Result] = [:]
        // The last ones, which cost most, first, so that none is left alone at the end.
        for (number, index) in work.indices.reversed().enumerated() {
            if number >= 2, let (index, result) = await group.next() { results[index] = result }
            group.addTask { (index, await body(work[index])) }
        }
        for await (index, result) in group { results[index] = result }
        return work.indices.compactMap { results[$0] }
    }
}
