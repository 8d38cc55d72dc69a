import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// How fast the messages of one key pass.
struct PaceTests {
    /// The limits of a kind of key, and their numbers.
    struct Kind: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let limits: Pace.Limits
        let burst: Int
        let every: Double
        /// How many seconds it is listened to.
        let listening: Double
        /// The same once its budget is spent.
        let longListening: Double
    }

    static let kinds = [
        Kind(
            testDescription: "an object", limits: .objects(), burst: 20, every: 6, listening: 8, longListening: 16.5),
        Kind(
            testDescription: "letters", limits: .letters(), burst: 20, every: 1.5, listening: 8, longListening: 20),
        Kind(
            testDescription: "an object of a pace of its own", limits: .objects(every: 2), burst: 20, every: 2,
            listening: 8, longListening: 16.5),
        Kind(
            testDescription: "letters that are rare", limits: .letters(every: 60), burst: 20, every: 60, listening: 8,
            longListening: 20),
        Kind(
            testDescription: "new keys of a route", limits: .route(), burst: 60, every: 1.25, listening: 4.5,
            longListening: 4.5),
        Kind(
            testDescription: "new keys of the device", limits: .device, burst: 120, every: 1.25, listening: 4.5,
            longListening: 4.5),
    ]

    /// Those whose floor has a token for the first try.
    static let usual = kinds.filter { $0.every < 8 }

    @Test("passes a burst at once, then one per floor interval", arguments: kinds)
    func floor(kind: Kind) {
        var lane = PaceLane(kind.limits)
        lane.come(kind.burst, at: 0)
        for number in 1...300 { lane.come(at: Double(number) * kind.every * 1.000001) }
        #expect(lane.passes.count == kind.burst + 300 && lane.passes.allSatisfy { $0.at == $0.came })
        #expect(!lane.pace.isLimiting && lane.pace.waiting == 0)
    }

    @Test(
        "an exhausted key listens, and says until when", arguments: kinds)
    func listening(kind: Kind) {
        var lane = PaceLane(kind.limits)
        lane.come(kind.burst + 1, at: 100)
        #expect(lane.passes.count == kind.burst && lane.due == 100 + kind.listening)
        #expect(lane.pace.isLimiting && lane.pace.waiting == 1)
        for number in 1...3 {
            lane.come(at: 100 + Double(number))
            #expect(lane.due == 100 + kind.listening)
        }
        #expect(lane.passes.count == kind.burst)
    }

    @Test("when a burst has stopped, tries one, then a burst, then all that wait", arguments: usual)
    func tries(kind: Kind) {
        var lane = PaceLane(kind.limits)
        let all = 3 * kind.burst + 11
        lane.come(all, at: 0)
        lane.pass(until: 60)
        let (first, second, third) = (kind.listening, kind.listening + 4, kind.listening + 8)
        #expect(
            lane.groups == [
                "\(kind.burst) at 0.0", "1 at \(first)", "\(kind.burst) at \(second)",
                "\(kind.burst + 10) at \(third)",
            ])
        #expect(lane.superseded == 0 && lane.pace.waiting == 0 && !lane.wentBack)
    }

    @Test("what waits while only one more comes than the floor has is tried and is through", arguments: usual)
    func oneMore(kind: Kind) {
        var lane = PaceLane(kind.limits)
        lane.come(kind.burst + 1, at: 0)
        lane.pass(until: 60)
        #expect(lane.groups == ["\(kind.burst) at 0.0", "1 at \(kind.listening)"])
        // It is as before: a burst's worth of the floor later, a burst passes.
        lane.come(kind.burst, at: 60 + Double(kind.burst) * kind.every)
        #expect(lane.passes.count == 2 * kind.burst + 1)
    }

    @Test("traffic after a try shows a loop: then the floor applies, and the newest replaces older ones")
    func failedObject() {
        var lane = PaceLane(.objects())
        lane.come(24, at: 0)
        lane.pass(until: 8)
        #expect(lane.groups == ["20 at 0.0", "1 at 8.0"])
        lane.come(at: 8.3)
        lane.pass(until: 12.1)
        // Three waited, and the one that came back stands for all of them.
        #expect(lane.groups == ["20 at 0.0", "1 at 8.0", "1 at 12.0"])
        #expect(lane.passes.last?.came == 8.3 && lane.superseded == 3)
        for number in 0..<100 {
            let last = lane.passes.last?.at ?? 0
            lane.come(2, at: last + 0.3)
            while lane.passes.count == 22 + number, lane.passToDue() {}
        }
        #expect(zip(lane.passes.dropFirst(21), lane.passes.dropFirst(22)).allSatisfy { $1.at - $0.at > 3.99 })
        #expect(lane.passes[121].at - lane.passes[21].at > 100 * 5.99, "by the floor, on the whole")
        #expect(lane.passes.suffix(50).allSatisfy { $0.at - $0.came < 13 }, "and none is old")
    }

    @Test("letters after a try pass at the floor, in order, and none is superseded")
    func failedLetters() {
        var lane = PaceLane(.letters())
        lane.come(24, at: 0)
        lane.pass(until: 8)
        lane.come(at: 8.3)
        lane.pass(until: 200)
        #expect(lane.passes.count == 25 && lane.superseded == 0)
        #expect(lane.passes.map(\.came) == lane.passes.map(\.came).sorted())
        #expect(lane.pace.waiting == 0 && !lane.wentBack)
    }

    @Test("traffic only at the beginning counts as a loop that died down")
    func decline() {
        var lane = PaceLane(.letters())
        lane.come(21, at: 0)
        for number in 0..<30 { lane.come(at: 0.1 + Double(number) * 0.09) }
        lane.come(at: 7)
        lane.pass(until: 8)
        // What the floor has, and then it is listened to again.
        #expect(lane.groups == ["20 at 0.0", "5 at 8.0"] && lane.due == 16)
    }

    @Test(
        "steady traffic passes at its own pace after listening",
        arguments: kinds, [1.5, 2])
    func steady(kind: Kind, perSecond: Double) {
        var lane = PaceLane(kind.limits)
        for number in 0..<Int(600 * perSecond) { lane.come(at: Double(number) / perSecond) }
        lane.pass(until: 700)
        #expect(lane.passes.count == Int(600 * perSecond) && lane.superseded == 0)
        #expect(lane.passes.allSatisfy { $0.at - $0.came < kind.listening + 0.01 })
        let late = lane.passes.filter { $0.came > 250 }
        #expect(late.allSatisfy { $0.at - $0.came < 0.01 }, "\(late.map { $0.at - $0.came }.max() ?? 0)")
    }

    @Test("after long listening, steady traffic never waits again", arguments: [2.0, 3])
    func proven(perSecond: Double) {
        var lane = PaceLane(.objects())
        let hours = 4.0
        for number in 0..<Int(hours * 3600 * perSecond) { lane.come(at: Double(number) / perSecond) }
        lane.pass(until: hours * 3600 + 60)
        #expect(lane.passes.count == Int(hours * 3600 * perSecond) && lane.superseded == 0)
        let late = lane.passes.filter { $0.at - $0.came > 0.01 }
        // Listened to at first, and for longer when the budget was spent.
        #expect(late.allSatisfy { $0.came < 2400 && $0.at - $0.came < 16.51 })
        #expect(late.contains { $0.came > 600 && $0.at - $0.came > 8.01 })
    }

    @Test("forgets a pace after ten idle minutes", arguments: [(550.0, false), (601, true)])
    func quiet(pause: Double, isForgotten: Bool) {
        var lane = PaceLane(.letters())
        for number in 0..<2400 { lane.come(at: Double(number) / 8) }
        lane.pass(until: 310)
        let before = lane.passes.count
        lane.come(60, at: 300 + pause)
        #expect((lane.passes.count - before == 20) == isForgotten, "\(lane.passes.count - before)")
        #expect(before == 2400)
    }

    @Test("forgets messages that nobody has asked about for ten minutes")
    func unheardOf() {
        var lane = PaceLane(.letters())
        lane.come(25, at: 0)
        var pace = lane.pace
        #expect(pace.waiting == 5)
        pace.hear(599, isNew: false, lane.limits)
        #expect(pace.waiting == 6)
        pace.hear(1200, isNew: false, lane.limits)
        #expect(pace.waiting == 1)
    }

    @Test("what waited elsewhere, or asks again, is no sign of a loop, nor of traffic that comes by itself")
    func notNew() {
        let limits = Pace.Limits.letters()
        var pace = Pace(limits, now: 0)
        var answers: [Pace.Answer] = []
        for _ in 0..<21 {
            pace.hear(0, isNew: true, limits)
            answers.append(pace.ask(0, limits))
        }
        #expect(answers == Array(repeating: .now(isFromFloor: true), count: 20) + [.later(until: 8)])
        for number in 0..<40 { pace.hear(3 + Double(number) / 8, isNew: false, limits) }
        // It has heard nothing, so it tries.
        let first = pace.ask(8, limits)
        for _ in 0..<10 { pace.hear(9, isNew: false, limits) }
        let (hasFailed, second) = (pace.hasFailed(12, limits), pace.ask(12, limits))
        #expect(first == .now(isFromFloor: true) && !hasFailed && second == .now(isFromFloor: true))
    }

    @Test("returned tokens can be taken again, up to a burst")
    func givenBack() {
        let limits = Pace.Limits.objects()
        var pace = Pace(limits, now: 0)
        for _ in 0..<5 { pace.giveBack(limits) }
        var answers = (0..<20).map { _ in pace.ask(0, limits) }
        pace.giveBack(limits)
        answers += (0..<2).map { _ in pace.ask(0, limits) }
        #expect(answers == Array(repeating: .now(isFromFloor: true), count: 21) + [.later(until: 8)])
    }
}
