import KiiPushTesting
import Testing

@testable import KiiPush

/// A loop among the honest messages of a trusted key, and honest messages without one.
@Suite("Trust check", .timeLimit(.minutes(1)))
struct TrustCheckTests {
    /// Messages at irregular times, so many in a second on average.
    private static func arrivals(_ pace: Double, from start: Double = 0, to end: Double) -> [Int64] {
        var random = SeededGenerator(seed: UInt64(pace * 10))
        var (times, time) = ([Int64](), start)
        while true {
            time += 2 * Double(random.next() >> 11) / Double(1 << 53) / pace
            guard time < end else { return times }
            times.append(.seconds(time))
        }
    }

    /// A run in which a loop begins after five minutes of such messages, and those that follow until `end` seconds.
    private static func loopAmong(
        _ pace: Double, to end: Double, answersAfter roundTrip: Double, most: Int = .max
    ) throws -> (run: BreakerRun, honest: [Int64], rest: [Int64]) {
        var run = BreakerRun(answers: BreakerRun.Answers(after: .seconds(roundTrip), answersOutside: false))
        run.most = most
        let honest = arrivals(pace, to: end)
        try run.run(honest.filter { $0 < .seconds(300) }, until: .seconds(300))
        run.beginLoop(1)
        return (run, honest, honest.filter { $0 >= .seconds(300) })
    }

    @Test(
        "a loop that begins in a trusted stream and answers only itself is handled a fraction of its pace",
        arguments: [1.0, 4], [0.3, 1])
    func loop(pace: Double, roundTrip: Double) throws {
        var (run, honest, rest) = try Self.loopAmong(pace, to: 2100, answersAfter: roundTrip)
        try run.run(rest, until: .seconds(5000))
        // At its own pace it would be handled 1,800 or 6,000 times in this half an hour.
        let caused = run.caused.count { $0 < .seconds(2100) }
        #expect(caused >= 50)
        #expect(caused <= (roundTrip < 1 ? 1500 : 900))
        #expect(run.outside.count == honest.count)
    }

    @Test("a stream of an hour never waits again, but for short pauses", arguments: [1.0, 4])
    func stream(pace: Double) throws {
        var run = BreakerRun()
        let arrivals = Self.arrivals(pace, to: 3600)
        try run.run(arrivals, until: .seconds(3700))
        #expect(run.outside.count == arrivals.count)
        let later = run.outside.filter { $0.time > .seconds(60) }
        #expect(later.allSatisfy { $0.late <= .seconds(0.75) })
        #expect(later.count { $0.late > 0 } * 8 <= later.count)
    }

    @Test("a pace that rises is checked with short pauses, and is the usual one then")
    func rise() throws {
        var run = BreakerRun()
        let arrivals = Self.arrivals(2, to: 1200) + Self.arrivals(3.5, from: 1200, to: 2400)
        try run.run(arrivals, until: .seconds(2500))
        func late(_ from: Double, _ to: Double) -> [Int64] {
            run.outside.filter { $0.time >= .seconds(from) && $0.time < .seconds(to) }.map(\.late).filter { $0 > 0 }
        }
        #expect(late(900, 1200).isEmpty)
        #expect(late(1200, 1800).count >= 10)
        #expect(late(1200, 2400).allSatisfy { $0 <= .seconds(0.75) })
        #expect(late(1900, 2400).isEmpty)
    }

    @Test("a wait for a loop among honest messages ends before their queue is full")
    func capacity() throws {
        var (run, honest, rest) = try Self.loopAmong(4, to: 1500, answersAfter: 0.3, most: 400)
        try run.run(rest, until: .seconds(3000))
        #expect(run.caused.count <= 3000)
        #expect(run.refused == 0)
        #expect(run.outside.count == honest.count)
    }

    @Test("what is held for a loop among honest messages says that all of it follows")
    func hold() throws {
        var (run, _, rest) = try Self.loopAmong(4, to: 1500, answersAfter: 0.3)
        var holds: [LoopHold] = []
        for end in stride(from: Int64.seconds(301), through: .seconds(1500), by: Int(Int64.seconds(1))) {
            try run.run(rest.filter { $0 > end - .seconds(1) && $0 <= end }, until: end)
            if let hold = LoopHold(run.breaker, .object), hold.step == .waiting { holds.append(hold) }
        }
        let last = try #require(holds.last { $0.isAmongOthers })
        let words = last.sentence(at: try #require(last.until))
        #expect(words.hasSuffix("conversation: some are of a loop; all of them follow in 0 s"))
    }

    @Test("pauses last three quarters of a second, three to five seconds apart, and a gap skips those that nobody saw")
    func pauses() throws {
        var series = PauseSeries(pace: 1, share: 0.5, 0)
        var ends: [Int64] = []
        var held = 0
        for time in stride(from: 0, to: Int64.seconds(400), by: 50_000_000) {
            guard let end = series.pause(at: time) else { continue }
            held += 1
            if ends.last != end { ends.append(end) }
        }
        // The last one may go on.
        #expect((ends.count * 15 - 14...ends.count * 15).contains(held))
        #expect(zip(ends, ends.dropFirst()).allSatisfy { (Int64.seconds(3)...(.seconds(5))).contains($1 - $0) })
        #expect(Set(zip(ends, ends.dropFirst()).map { $1 - $0 }).count >= 6)
        let later = Int64.seconds(100_000)
        #expect(series.pause(at: later) == nil)
        #expect(series.pause(at: later + .seconds(0.5)) == later + .seconds(1.25))
    }
}
