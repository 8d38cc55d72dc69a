import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// How fast the messages of one key pass.
struct PaceTests {
    /// The limits of a kind of key.
    struct Kind: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let limits: Pace.Limits

        /// How many pass at once.
        var atOnce: Int { Int(limits.burst + limits.allowance) }
    }

    static let kinds = [
        Kind(testDescription: "an object", limits: .objects()),
        Kind(testDescription: "letters", limits: .letters()),
        Kind(testDescription: "an object of a pace of its own", limits: .objects(every: 2)),
        Kind(testDescription: "letters that are rare", limits: .letters(every: 60)),
        Kind(testDescription: "letters that are frequent", limits: .letters(every: 0.1)),
        Kind(testDescription: "new keys", limits: .newKeys()),
    ]

    private static func pause(_ limits: Pace.Limits) -> Double { limits.length(isLong: false) }

    /// Whether the first of a lane waits for the end of the pause that began at this time.
    private static func waits(_ lane: PaceLane, forEndOf pause: Double) -> Bool {
        lane.due.map { abs($0 - pause - Self.pause(lane.limits)) < 0.001 } == true
    }

    @Test("passes a burst at once, then one per floor interval, and never pauses", arguments: kinds)
    func floor(kind: Kind) {
        var lane = PaceLane(kind.limits)
        lane.come(Int(kind.limits.burst), at: 0)
        for number in 1...300 { lane.come(at: Double(number) * kind.limits.every * 1.000001) }
        #expect(lane.passes.count == Int(kind.limits.burst) + 300 && lane.passes.allSatisfy { $0.at == $0.came })
        #expect(lane.pace.isPlain && lane.pace.waiting == 0)
    }

    @Test("passes a burst and the allowance at once, and says until when the next one waits", arguments: kinds)
    func allowance(kind: Kind) throws {
        var lane = PaceLane(kind.limits)
        let now = Pace.nextPause(after: 100, isLong: false) + 2
        lane.come(kind.atOnce + 1, at: now)
        #expect(lane.passes.count == kind.atOnce && lane.pace.waiting == 1)
        #expect(lane.pace.isLimiting(now, kind.limits))
        let due = try #require(lane.due)
        #expect(due > now && due <= now + min(kind.limits.every, 22) + 0.001)
    }

    @Test("the allowance is restored after fifteen quiet seconds", arguments: kinds)
    func quiet(kind: Kind) {
        func passing(_ pace: inout Pace, at now: Double) -> Double {
            var count = 0.0
            while case .now = pace.ask(now, kind.limits) { count += 1 }
            return count
        }
        func floor(_ time: Double) -> Double { min(kind.limits.burst, (time / kind.limits.every).rounded(.down)) }
        var pace = Pace(kind.limits, now: 0)
        #expect(passing(&pace, at: 0) == kind.limits.burst + kind.limits.allowance)
        var early = pace
        #expect(passing(&early, at: 14.9) == 0, "it takes part in a pause until then")
        #expect(passing(&pace, at: 15.1) == kind.limits.allowance + floor(15.1))
    }

    @Test("a key beyond its burst pauses for six seconds, once in each slot, at the same time on all devices")
    func pauses() {
        for number in 0..<1000 {
            let now = Double(number) * 7.3
            for isLong in [false, true] {
                let slot = 86_400 / Pace.pausesOfDay(isLong: isLong)
                let time = Pace.nextPause(after: now, isLong: isLong)
                #expect(time > now && time <= now + 2 * slot)
                let longest = Pace.Limits.letters().length(isLong: isLong)
                #expect(time.truncatingRemainder(dividingBy: slot) <= slot - longest)
                let tomorrow = Pace.nextPause(after: now + 86_400, isLong: isLong)
                #expect(abs(tomorrow - time - 86_400) < 0.001, "the time of day decides")
            }
        }
    }

    @Test(
        "a key that goes beyond its burst within a second after a pause has begun joins it, and hears nothing in it",
        arguments: [(0.9, true), (1.1, false)])
    func joins(late: Double, joins: Bool) {
        let pause = Pace.nextPause(after: 500, isLong: false)
        for limits in [Pace.Limits.letters(), .objects()] {
            var lane = PaceLane(limits, at: 400)
            lane.come(21, at: pause + late)
            #expect(lane.passes.count == (joins ? 20 : 21))
            guard joins else { continue }
            #expect(Self.waits(lane, forEndOf: pause))
            var pace = lane.pace
            for _ in 0..<5 { pace.hear(pause + 5, isNew: true, limits) }
            var answer = Pace.Answer.now(.floor)
            while answer == .now(.floor) { answer = pace.ask(pause + Self.pause(limits) + 0.01, limits) }
            #expect(answer == .now(.allowance), "it has no rate")
        }
    }

    @Test("a key that has paused joins the rest of a pause, unless it was quiet for fifteen seconds")
    func joinsAgain() {
        for limits in [Pace.Limits.letters(), .objects()] {
            let pause = Pace.nextPause(after: 500, isLong: false)
            let end = pause + Self.pause(limits)
            for isQuiet in [false, true] {
                var lane = PaceLane(limits, at: 400)
                lane.come(21, at: pause - 1)
                lane.come(at: end + 0.1)
                let next = Pace.nextPause(after: isQuiet ? end + 16 : end, isLong: false)
                lane.come(20, at: next + 3)
                #expect(lane.queue.isEmpty == isQuiet)
                #expect(isQuiet || Self.waits(lane, forEndOf: next))
            }
        }
    }

    @Test("a key that asks as a pause ends does not join it again, although the wall clock was read less exactly")
    func joinsOnce() throws {
        let limits = Pace.Limits.letters()
        let pause = Pace.nextPause(after: 500, isLong: false)
        var lane = PaceLane(limits, at: 400)
        lane.come(21, at: pause - 3)
        for number in 0..<3 { lane.come(at: pause + 5 + Double(number) / 10) }
        let end = pause + Self.pause(limits)
        var (pace, until) = (lane.pace, end)
        while until == end { if case .later(let time) = pace.ask(end, limits, -0.002) { until = time } }
        #expect(until > end + 0.1 && !pace.isPlain)
    }

    @Test(
        "a pause that a key joined ends the rate of an object if nothing comes in it, and halves that of letters",
        arguments: [true, false])
    func joinedEndsRate(isObject: Bool) {
        let limits: Pace.Limits = isObject ? .objects() : .letters()
        let pause = Pace.nextPause(after: 500, isLong: false)
        var lane = PaceLane(limits, at: 400)
        lane.come(21, at: pause - 3)
        for number in 0..<10 { lane.come(at: pause + 5 + Double(number) / 10) }
        let next = Pace.nextPause(after: pause + Self.pause(limits), isLong: false)
        lane.come(at: next)
        #expect(!lane.pace.isPlain)
        lane.come(300, at: next + 0.5)
        #expect(Self.waits(lane, forEndOf: next), "it has joined")
        var pace = lane.pace
        pace.hear(next + Self.pause(limits) + 0.001, isNew: true, limits)
        #expect(pace.isPlain == isObject)
    }

    @Test("a pause ignores its first round trip, and its end, when other devices may have resumed")
    func counted() {
        let pause = Pace.nextPause(after: 500, isLong: false)
        for limits in [Pace.Limits.letters(), .objects()] {
            let end = Self.pause(limits)
            for (time, isCounted) in [(4.4, false), (4.6, true), (end - 0.6, true), (end - 0.4, false)] {
                var lane = PaceLane(limits, at: 400)
                lane.come(21, at: pause - 3)
                lane.come(at: pause + time)
                var pace = lane.pace
                #expect(pace.ask(pause + end + 0.01, limits) == .now(isCounted ? .rate : .floor), "\(time)")
            }
        }
    }

    @Test("letters wait for the end of a pause, an object's newest change for its beginning")
    func listening() throws {
        for limits in [Pace.Limits.letters(), .objects()] {
            var lane = PaceLane(limits)
            lane.come(21, at: 0)
            let pause = Pace.nextPause(after: 0, isLong: false)
            lane.pass(until: pause)
            lane.come(at: pause + 1)
            #expect(lane.passes.count == 21 && Self.waits(lane, forEndOf: pause))
            lane.pass(until: pause + Self.pause(limits) + 0.001)
            #expect(lane.passes.count == 22)
        }
        // What waits as the pause begins: the newest passes in advance, and replaces the others.
        var lane = PaceLane(.objects())
        lane.come(314, at: 0)
        lane.pass(until: Pace.nextPause(after: 0, isLong: false) + 0.001)
        #expect(lane.passes.count == 311 && lane.superseded == 3 && lane.pace.waiting == 0)
    }

    @Test("when the allowance is spent, the newest change replaces older ones; others pass in order", arguments: kinds)
    func floorOnly(kind: Kind) {
        let limits = kind.limits
        var lane = PaceLane(limits)
        lane.come(kind.atOnce, at: 0)
        // Each that passes causes the next two, up to a hundred that wait.
        while lane.now < 1000 {
            let seen = lane.passes.count
            if lane.queue.count < 100 { lane.come(2, at: lane.now + 0.3) }
            while lane.passes.count == seen, lane.passToDue() {}
        }
        #expect(lane.passes.count <= kind.atOnce + Int(lane.now / limits.every) + 1)
        #expect((lane.superseded > 0) == limits.newestWins && !lane.wentBack)
        #expect(lane.passes.map(\.came) == lane.passes.map(\.came).sorted())
        if limits.newestWins { #expect(lane.passes.allSatisfy { $0.at - $0.came < 17 }) }
    }

    @Test("a key with a fast pace of its own pauses for no longer than others", arguments: [true, false])
    func fastPace(isObject: Bool) {
        let limits: Pace.Limits = isObject ? .objects(every: 0.1) : .letters(every: 0.1)
        var lane = PaceLane(limits)
        lane.come(25, at: 0)
        for number in 1...600 { lane.come(at: Double(number) / 2) }
        #expect(lane.passes.allSatisfy { $0.at - $0.came < Self.pause(limits) + 5 * limits.every })
    }

    @Test(
        "steady traffic waits for one pause, and passes at its own pace after it",
        arguments: kinds.filter { $0.limits.allowance > 0 }, [1.5, 3])
    func steady(kind: Kind, perSecond: Double) {
        var lane = PaceLane(kind.limits)
        for number in 0..<Int(300 * perSecond) { lane.come(at: Double(number) / perSecond) }
        lane.pass(until: 400)
        #expect(lane.passes.count == Int(300 * perSecond) && lane.superseded == 0)
        #expect(lane.passes.allSatisfy { $0.at - $0.came < Self.pause(kind.limits) + 0.01 })
        let late = lane.passes.filter { $0.came > 200 }
        #expect(late.allSatisfy { $0.at - $0.came < 0.01 }, "\(late.map { $0.at - $0.came }.max() ?? 0)")
    }

    @Test(
        "beyond an hour's bound, pauses are long, and steady traffic has one more when it has come for a quarter longer"
    )
    func proven() {
        var lane = PaceLane(.objects())
        for number in 0..<17_500 { lane.come(at: Double(number) / 5) }
        lane.pass(until: 3600)
        #expect(lane.passes.count == 17_500 && lane.superseded == 0)
        #expect(lane.passes.allSatisfy { $0.at - $0.came < 16.91 })
        let ends = Set(lane.passes.filter { $0.at - $0.came > Self.pause(.objects()) + 0.01 }.map(\.at)).sorted()
        #expect((2...15).contains(ends.count), "\(ends)")
        for (before, next) in zip(ends, ends.dropFirst()) {
            #expect(next - before > max(60, (before - (ends.first ?? 0)) / 4), "\(ends)")
        }
    }

    @Test("no letter of a fast stream is late by a minute, whenever it begins and ends")
    func fast() {
        for start in stride(from: 0, to: 45, by: 1.5) {
            var lane = PaceLane(.letters(), at: start)
            for number in 0..<25_000 { lane.come(at: start + Double(number) / 175) }
            lane.pass(until: start + 300)
            let latest = lane.passes.map { $0.at - $0.came }.max() ?? 0
            #expect(lane.passes.count == 25_000 && latest < 60, "\(latest) s from \(start)")
        }
    }

    @Test("no letter of clusters that pauses often miss is late by a minute", arguments: [(50, 11.3), (48, 14.9)])
    func clusters(size: Int, each: Double) {
        for start in stride(from: 0, to: 45, by: 1.5) {
            var lane = PaceLane(.letters(), at: start)
            for number in 0..<Int(3600 / each) { lane.come(size, at: start + Double(number) * each) }
            lane.pass(until: start + 3700)
            let latest = lane.passes.map { $0.at - $0.came }.max() ?? 0
            #expect(lane.passes.count == size * Int(3600 / each) && latest < 60, "\(latest) s from \(start)")
        }
    }

    @Test(
        "a burst that causes nothing has passed after two pauses",
        arguments: [(Pace.Limits.letters(), 1900), (.newKeys(), 10_000)])
    func burst(limits: Pace.Limits, count: Int) {
        for start in stride(from: 0, to: 45, by: 1.5) {
            var lane = PaceLane(limits, at: start)
            lane.come(count, at: start)
            lane.pass(until: start + 32)
            let waiting = lane.queue.count
            #expect(waiting == 0, "from \(start)")
        }
    }

    @Test("of bursts beyond an hour's bound, one an hour passes whole, within 83 seconds", arguments: [2000, 30_000])
    func largeBurst(count: Int) {
        for start in stride(from: 0, to: 90, by: 1.5) {
            var lane = PaceLane(.letters(), at: start)
            lane.come(count, at: start)
            lane.pass(until: start + 83)
            let first = lane.queue.count
            lane.come(count, at: start + 3000)
            lane.pass(until: start + 3500)
            let second = lane.queue.count
            lane.pass(until: start + 3800)
            let later = lane.queue.count
            #expect(first == 0 && second > count - 1500 && later == 0, "from \(start): \(second)")
        }
    }

    @Test("a loop goes on at the pace of honest messages that have ended for a quarter of their time")
    func afterHonest() throws {
        var lane = PaceLane(.letters())
        for number in 0..<6000 { lane.come(at: Double(number) / 2) }
        var time = 3000.0
        while time < 6600 {
            lane.come(at: time)
            while !lane.queue.isEmpty, lane.passToDue() {}
            time = try #require(lane.passes.last).at + 0.5
        }
        let limits = Pace.Limits.letters()
        let bound = 6000 / 4 + Pace.hour / limits.every + limits.allowance + limits.burst
        #expect(Double(lane.passes.count { $0.came >= 3000 }) < bound)
    }

    @Test("a pace slower than one a minute is kept whatever comes, and who waits for it asks once")
    func slow() {
        var lane = PaceLane(.letters(every: 86_400))
        lane.come(22, at: 0)
        #expect(lane.passes.count == 20 && lane.due?.rounded() == 86_400)
        for number in 1...1000 { lane.come(at: Double(number)) }
        lane.pass(until: 200_000)
        #expect(lane.passes.map { $0.at.rounded() } == [Double](repeating: 0, count: 20) + [86_400, 172_800])
    }

    @Test("forgets a rate after an idle minute", arguments: [(55.0, false), (65, true)])
    func forgets(pause: Double, isForgotten: Bool) {
        var lane = PaceLane(.letters())
        for number in 0..<2400 { lane.come(at: Double(number) / 8) }
        lane.pass(until: 310)
        lane.come(at: 300 + pause)
        #expect(lane.pace.isPlain == isForgotten)
    }

    @Test("forgets messages that nobody has asked about for a minute")
    func unheardOf() {
        var lane = PaceLane(.letters())
        lane.come(895, at: 0)
        var pace = lane.pace
        #expect(pace.waiting == 5)
        pace.hear(59, isNew: false, lane.limits)
        #expect(pace.waiting == 6)
        pace.hear(120, isNew: false, lane.limits)
        #expect(pace.waiting == 1)
    }

    @Test("messages that waited elsewhere or ask again count neither for nor against a loop")
    func notNew() {
        let limits = Pace.Limits.letters()
        var pace = Pace(limits, now: 0)
        for _ in 0..<900 {
            pace.hear(0, isNew: true, limits)
            _ = pace.ask(0, limits)
        }
        let start = Pace.nextPause(after: 0, isLong: false)
        for number in 0..<40 { pace.hear(start + 5 + Double(number) / 30, isNew: false, limits) }
        pace.hear(start + Self.pause(limits), isNew: false, limits)
        #expect(pace.isPlain, "nothing was heard that gives it a rate")
    }

    @Test("returned tokens can be taken again, up to a burst")
    func givenBack() {
        let limits = Pace.Limits.objects(every: 8)
        var pace = Pace(limits, now: 0)
        for _ in 0..<5 { pace.giveBack(limits) }
        for _ in 0..<20 { #expect(pace.ask(0, limits) == .now(.floor)) }
        pace.giveBack(limits)
        #expect(pace.ask(0, limits) == .now(.floor))
        #expect(pace.ask(0, limits) != .now(.floor))
    }
}
