import KiiPushTesting
import Testing

@testable import KiiPush

/// One breaker: what it lets pass, and what it finds out about the rest.
@Suite("Breaker", .timeLimit(.minutes(1)))
struct BreakerTests {
    // MARK: Honest traffic

    @Test(
        "a steady stream is handled whole, late once and by eight seconds at most",
        arguments: [0.3, 0.5, 1, 3, 10, 50, 200])
    func stream(pace: Double) throws {
        var run = BreakerRun()
        let arrivals = (0..<Int(120 * pace)).map { Int64.seconds(Double($0) / pace) }
        try run.run(arrivals, until: .seconds(150))
        #expect(run.outside.count == arrivals.count)
        #expect(run.latest <= .seconds(8))
        #expect(run.breaker.held.isEmpty)
        // Late in one stretch, and never again.
        let late = run.outside.filter { $0.late > 0 }.map { $0.time - $0.late }
        if let first = late.min(), let last = late.max() { #expect(last - first <= .seconds(10), "at \(pace)/s") }
        #expect(run.outside.suffix(Int(30 * pace)).allSatisfy { $0.late == 0 })
    }

    @Test(
        "a burst is handled whole within 30 seconds, in its order, with and without a stream behind it",
        arguments: [60, 400], [0, 0.3, 3, 50])
    func burst(size: Int, pace: Double) throws {
        var run = BreakerRun()
        let behind = (0..<Int(60 * pace)).map { Int64.seconds(Double($0 + 1) / pace) }
        let arrivals = [Int64](repeating: 0, count: size) + behind
        try run.run(arrivals, until: .seconds(120))
        #expect(run.outside.count == arrivals.count)
        #expect(run.latest <= .seconds(30))
        let order = run.outside.map { $0.time - $0.late }
        #expect(order == order.sorted())
    }

    @Test("what waits after a wake-up, again and again, is handled each time")
    func wakeUps() throws {
        var run = BreakerRun()
        let arrivals = (0..<6).flatMap { [Int64](repeating: .seconds(Double($0) * 600), count: 100) }
        try run.run(arrivals, until: .seconds(3600))
        #expect(run.outside.count == 600)
        #expect(run.latest <= .seconds(30))
    }

    // MARK: Loops

    @Test(
        "a loop is found that the device takes in at its own pace, since it causes more than that",
        arguments: [20, 100], [0.0005, 0.002, 0.01])
    func backlog(count: Int, intake: Double) throws {
        let answers = BreakerRun.Answers(count: count, after: .seconds(0.05))
        var run = BreakerRun(answers: answers, intake: .seconds(intake))
        try run.run([0], until: .seconds(120))
        #expect(run.handled <= 60)
    }

    @Test("a stream that the device never catches up with is late once, by little more than a minute")
    func alwaysBehind() throws {
        var run = BreakerRun()
        try run.run((0..<30_000).map { Int64.seconds(Double($0) / 200) }, until: .seconds(200), .waited)
        #expect(run.outside.count == 30_000)
        #expect(run.latest <= .seconds(70))
        #expect(run.outside.suffix(10_000).allSatisfy { $0.late == 0 })
    }

    @Test(
        "a loop is handled forty times an hour at most", arguments: [0.005, 0.05, 0.3, 1.0], [1, 5, 20])
    func loop(roundTrip: Double, tokens: Int) throws {
        var run = BreakerRun(answers: BreakerRun.Answers(after: .seconds(roundTrip)))
        try run.run((0..<tokens).map { Int64($0) * 1_000_000 }, until: .seconds(3600))
        #expect(run.handled <= 40, "round trip \(roundTrip) s, \(tokens) at first")
        #expect(run.handled >= 20)
    }

    @Test("a loop that doubles is handled as seldom", arguments: [0.05, 1.0])
    func doubling(roundTrip: Double) throws {
        var run = BreakerRun(answers: BreakerRun.Answers(count: 2, after: .seconds(roundTrip)))
        try run.run([0], until: .seconds(3600))
        #expect(run.handled <= 40)
    }

    @Test(
        "a loop beside a stream, which looks like it while it is held, runs away ever more rarely",
        arguments: [(0.7, 170), (2.5, 170), (10, 280)])
    func breaches(pace: Double, most: Int) throws {
        var run = BreakerRun(answers: .init(after: .seconds(0.1), answersOutside: false))
        let stream = { (range: Range<Double>) in
            stride(from: range.lowerBound, to: range.upperBound, by: 1 / pace).map { Int64.seconds($0) }
        }
        try run.run(stream(0..<110), until: .seconds(110))
        #expect(run.caused.isEmpty && run.outside.count == stream(0..<110).count)
        run.beginLoop(2)
        try run.run(stream(110..<3710), until: .seconds(3710))
        #expect(run.caused.count <= most)
        // Of these hardly any in the second half of the hour.
        #expect(run.caused.count { $0 > .seconds(1910) } <= 40)
    }

    @Test("after each loop it waits twice as long, up to an hour")
    func waits() throws {
        var run = BreakerRun(answers: BreakerRun.Answers(after: .seconds(0.2)))
        try run.run([0], until: .seconds(6 * 3600))
        #expect(run.waits == [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600].map { .seconds($0) })
    }

    @Test("the first wait is the rate's, also where that is longer than an hour", arguments: [10, 7200])
    func coolDown(seconds: Double) throws {
        var rate = LoopRate.standard
        rate.coolDown = .seconds(seconds)
        var run = BreakerRun(rate, answers: BreakerRun.Answers(after: .seconds(0.2)))
        try run.run([0], until: .seconds(seconds * 2))
        #expect(run.waits.first == .seconds(seconds))
    }

    @Test(
        "a loop that also answers honest messages is handled forty times in the first hour",
        arguments: [0.5, 1, 2], [0.05, 0.3, 1])
    func loopOfAll(pace: Double, roundTrip: Double) throws {
        var run = BreakerRun(answers: BreakerRun.Answers(after: .seconds(roundTrip)))
        run.beginLoop(1)
        try run.run(stride(from: 0.5, to: 3600, by: 1 / pace).map { Int64.seconds($0) }, until: .seconds(3600))
        #expect((20...40).contains(run.caused.count), "\(run.caused.count)")
    }

    @Test(
        "honest messages that come into a loop are handled in the end, and the loop stays bounded",
        arguments: [0.1, 1.0])
    func mixed(pace: Double) throws {
        var run = BreakerRun(
            answers: BreakerRun.Answers(after: .seconds(0.2), until: .seconds(600)))
        let arrivals = (0..<Int(600 * pace)).map { Int64.seconds(Double($0) / pace) }
        try run.run(arrivals, until: .seconds(4 * 3600))
        #expect(run.outside.count == arrivals.count)
        #expect(run.breaker.held.isEmpty)
        #expect(run.caused.filter { $0 < .seconds(600) }.count <= 60)
    }

    // MARK: Limits

    private static let two = LoopRate(messages: 2, window: .seconds(10))

    @Test("the limits of both spans hold, and a message that is taken back makes room")
    func limits() {
        let limit = RateLimits(
            LoopRate(messages: 2, window: .seconds(1), sustained: .init(messages: 3, window: .seconds(60)))
        )
        .narrow
        var breaker = Breaker(ResourceKey(0), limit)
        func judge(_ seconds: Double) -> Bool {
            if breaker.pass(.seconds(seconds), limit) { return true }
            if case .hold = breaker.judge(Arrival(time: .seconds(seconds), now: .seconds(seconds)), limit) {
                return false
            }
            return true
        }
        #expect(judge(0) && judge(0.5))
        breaker.takeBack()
        #expect(judge(0.6))
        // At exactly the end of the span the first is out.
        #expect(judge(1))
        #expect(breaker.phase == .closed)
        #expect(!judge(3), "the third in a minute has passed")
        #expect(breaker.phase == .listening(until: .seconds(7.5)))
    }

    @Test("while it listens, tries and watches all wait; then all follow, sixteen at once at most")
    func steps() throws {
        var run = BreakerRun(Self.two)
        try run.run([0, 1, 2, 3], until: .seconds(4))
        #expect(run.handled == 2 && run.breaker.held.count == 2)
        #expect(run.breaker.due == run.breaker.phase.end)
        try run.run([], until: .seconds(5))
        #expect(run.handled == 3, "one is tried")
        guard case .watching = run.breaker.phase else {
            Issue.record("\(run.breaker.phase)")
            return
        }
        try run.run([], until: .seconds(7))
        #expect(run.handled == 4 && run.breaker.phase == .closed && run.breaker.due == nil)
    }

    @Test("released messages have their turns sixteen at once at most, and new ones queue behind them")
    func releasing() throws {
        let limit = RateLimits(Self.two).narrow
        var breaker = Breaker(ResourceKey(0), limit)
        let owner = PushReceiver {}
        func hold(_ id: UInt64, _ now: Int64) throws {
            guard case .hold = breaker.judge(Arrival(time: now, now: now), limit) else {
                Issue.record("\(id) passed")
                return
            }
            _ = breaker.promise(upTo: 100)
            breaker.hold(
                try HeldMessage(
                    id: id, RoutedMessage(PayloadFixture.pushToApp().payload(.long)), passed: 1, owner: owner))
        }
        // A stream of ten a second, so that what waits is explained.
        var (id, now): (UInt64, Int64) = (0, 0)
        while now < .seconds(7) {
            if id < 2 { _ = breaker.judge(Arrival(time: now, now: now), limit) } else { try hold(id, now) }
            (id, now) = (id + 1, now + .seconds(0.1))
            if case .releasing = breaker.phase { break }
            while case .trying = breaker.phase, let message = breaker.takeDue(now) {
                #expect(message.id >= 2)
                breaker.turnEnded(now)
            }
            if case .listening(let end) = breaker.phase, end <= now { takeOne() }
            if case .watching(let end) = breaker.phase, end <= now { break }
        }
        func takeOne() {
            if breaker.takeDue(now) != nil { breaker.turnEnded(now) }
        }
        var running = 0
        while breaker.takeDue(now) != nil { running += 1 }
        #expect(breaker.phase == .releasing)
        #expect(running == 16)
        #expect(breaker.due == nil)
        try hold(1000, now)
        var order: [UInt64] = []
        for _ in 0..<200 {
            breaker.turnEnded(now)
            if let message = breaker.takeDue(now) { order.append(message.id) }
            if breaker.phase == .closed { break }
        }
        #expect(order.last == 1000 && order == order.sorted())
        #expect(breaker.phase == .closed)
    }

    @Test(
        "a stream is counted by the wider breakers, too, if it came while the device handled others that may cause it",
        arguments: [(0, true), (1, true), (6, false), (100, false)])
    func mixed(others: Int, isIndependent: Bool) throws {
        var run = BreakerRun()
        // So many while it listens; ten a second are its own.
        for number in 0..<others {
            let time = Int64.seconds(2.5 + 3 * Double(number) / Double(others))
            run.others.add(time, time)
        }
        try run.run((0..<200).map { .seconds(Double($0) / 10) }, until: .seconds(20))
        #expect(run.outside.count == 200)
        let answer = run.breaker.judge(Arrival(time: run.now, now: run.now), RateLimits(.standard).narrow)
        #expect(answer == (isIndependent ? .passTrusted : .pass))
    }

    @Test("what is taken out meanwhile, as by a kill, leaves it as if it had been handled")
    func killed() throws {
        for time in [3.0, 4.6, 6.0] {
            var run = BreakerRun(Self.two)
            try run.run([0, 1, 2, 3, 4], until: .seconds(time))
            let removed = run.breaker.removeHeld { _ in true }
            #expect(removed.count == (time > 4.5 ? 2 : 3))
            try run.run([.seconds(20)], until: .seconds(40))
            #expect(run.breaker.held.isEmpty)
            #expect(run.breaker.phase == .closed, "killed after \(time) s")
        }
    }

    @Test("one whose last message is taken out between promise and place waits for it")
    func promised() throws {
        let limit = RateLimits(Self.two).narrow
        var breaker = Breaker(ResourceKey(0), limit)
        for _ in 0..<3 { _ = breaker.judge(Arrival(time: 0, now: 0), limit) }
        let promises = (0..<2).map { _ in breaker.promise(upTo: 1) }
        #expect(promises == [true, false])
        let late = Int64.seconds(100)
        var due = breaker.takeDue(late)
        #expect(due == nil)
        let isIdle = breaker.isIdle(.max)
        #expect(!isIdle)
        breaker.hold(
            try HeldMessage(
                id: 1, RoutedMessage(PayloadFixture.pushToApp().payload(.long)), passed: 1, owner: PushReceiver {}))
        due = breaker.takeDue(late)
        #expect(due?.id == 1)
    }

    // MARK: Forgetting

    @Test("it is forgotten when nothing counts, nothing is held, and what was learnt is old")
    func idle() throws {
        let limit = RateLimits(Self.two).narrow
        var quiet = Breaker(ResourceKey(0), limit)
        _ = quiet.judge(Arrival(time: 0, now: 0), limit)
        let early = quiet.isIdle(.seconds(9.9)), late = quiet.isIdle(.seconds(10))
        #expect(!early && late)

        var run = BreakerRun(answers: BreakerRun.Answers(after: .seconds(0.2)))
        try run.run([0], until: .seconds(60))
        let isIdle = run.breaker.isIdle(.max)
        #expect(!isIdle, "while anything waits")
        _ = run.breaker.removeHeld { _ in true }
        let withinHour = run.breaker.isIdle(.seconds(3600)), after = run.breaker.isIdle(.seconds(2 * 3600))
        #expect(!withinHour && after, "what was tried counts for an hour")
        #expect(!run.breaker.isExpendable)
    }

    // MARK: Clocks

    @Test(
        "a clock at its end, or set back, traps nowhere and loses nothing",
        arguments: [
            [Int64.max - 3, Int64.max], [Int64.min + 1, Int64.min + 2, Int64.max], [1000, 0],
            [0, Int64.min + 1, Int64.max],
        ]
            as [[Int64]])
    func clocks(times: [Int64]) throws {
        let limit = RateLimits(Self.two).narrow
        var breaker = Breaker(ResourceKey(0), limit)
        let owner = PushReceiver {}
        var (passed, held): (Int, UInt64) = (0, 0)
        for now in times {
            for _ in 0..<3 {
                if case .hold = breaker.judge(Arrival(time: now, now: now), limit) {
                    held += 1
                    _ = breaker.promise(upTo: 100)
                    breaker.hold(
                        try HeldMessage(
                            id: held, RoutedMessage(PayloadFixture.pushToApp().payload(.long)), passed: 1,
                            owner: owner))
                } else {
                    passed += 1
                }
            }
            while breaker.takeDue(now) != nil {
                held -= 1
                passed += 1
                breaker.turnEnded(now)
            }
        }
        #expect(passed + Int(held) == 3 * times.count)
        #expect(breaker.held.count == Int(held))
    }
}

extension Breaker.Phase {
    /// When it ends by itself.
    fileprivate var end: Int64? {
        switch self {
        case .listening(let end), .watching(let end), .waiting(let end), .pausing(let end): end
        case .closed, .trying, .releasing: nil
        }
    }
}
