import KiiPushTesting

/// Loops on an object that honest messages come for, too, as the table of the guide lists them.
struct MixedLoops: OtherRun {
    /// How many seeds of each, from one on, with each of three round trips.
    var seeds = 10

    private struct Row {
        /// How many honest messages come in a second, and for how many seconds before the loop begins.
        let pace: Double
        let head: Int
        /// Whether the handler answers these too, as one that writes for each message does.
        let isAnswered: Bool

        func adversary(_ roundTrip: Int) -> Adversary {
            var loop = Adversary()
            (loop.roundTrip, loop.honestPace, loop.answersHonest) = (roundTrip, pace, isAnswered)
            loop.head = head * 1000
            return loop
        }
    }

    private struct Run: Sendable {
        let loop: Adversary
        let seed: UInt64
    }

    private static let roundTrips = [50, 300, 1000]
    private static let rows =
        [0.2, 1, 2].map { Row(pace: $0, head: 0, isAnswered: true) }
        + [1, 4].map { Row(pace: $0, head: 60, isAnswered: true) }
        + [1, 4].map { Row(pace: $0, head: 0, isAnswered: false) }
        + [1, 4].map { Row(pace: $0, head: 60, isAnswered: false) }
        + [1, 4].map { Row(pace: $0, head: 600, isAnswered: false) }

    /// Runs all of them and prints the table; returns whether no honest message was lost.
    func run() async -> Bool {
        print("| honest messages | before the loop | answered | loop handled, median | most | honest, latest |")
        print("|---|---|---|--:|--:|--:|")
        var isFine = true
        for row in Self.rows {
            let work = Self.roundTrips.flatMap { time in
                (1...UInt64(seeds)).map { Run(loop: row.adversary(time), seed: $0) }
            }
            let results = await inParallel(work) { run in
                await AdversaryRun(name: "", adversary: run.loop, isWhole: true).run(run.seed)
            }
            let handled = results.map(\.handled).sorted()
            let lost = results.reduce(0) { $0 + $1.honestLost }
            if lost > 0 { isFine = false }
            let answered = row.isAnswered ? "all" : "the loop's only"
            print("| honest, \(plain(row.pace))/s | \(row.head) s | \(answered) |", terminator: " ")
            let latest = Int((results.map(\.latest).max() ?? 0) / 60)
            print("\(handled[handled.count / 2]) | \(handled.last ?? 0) | \(latest) min |", terminator: "")
            print(lost > 0 ? " \(lost) LOST" : "")
        }
        return isFine
    }
}
